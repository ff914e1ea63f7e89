import { DM_PREFIX } from "../contract/forms";
import type { DmCreate, MessageCreate, MessageEphemeral } from "./events";
import type { InboundEvent } from "./inbound-event";
import { errorOf } from "./problem";
import { createNewest, keyOf, lengthOf, REPORTED_MAX, type ReportedStore } from "./reported-store";
import type { ShownMessage } from "./shown-messages";

/** The events that show a new message in a channel or to a member. */
type Begun = MessageCreate | DmCreate | MessageEphemeral;

/** The channels and members that the bridge has reported. Games may write only to these channels and members. */
export interface ReportedIds {
  /**
   * Loads the saved ids. `shown` are the saved messages. `hasRun` tells whether the bridge has run before, with or
   * without saved ids. Rejects if the store cannot be read or written.
   */
  load(shown: readonly ShownMessage[], hasRun: boolean): Promise<void>;
  /**
   * Records the channel and the member of an inbound event. Resolves when each id was saved or could not be saved.
   * Never rejects.
   */
  note(event: InboundEvent): Promise<void>;
  /** Returns the reason why the chat must not show an event; undefined if the chat may show the event. */
  faultOf(event: Begun): string | undefined;
}

export interface ReportedIdsOptions {
  readonly store: ReportedStore;
  /** Whether channels must have been reported too, not only members. */
  readonly isForChannels: boolean;
  /** Called when an id cannot be saved. Not called for further failures until a save has succeeded. */
  readonly report: (problem: Error) => void;
  /**
   * Maximum total length of the ids, in UTF-16 code units. Beyond it, the ids that were reported longest ago are
   * dropped.
   */
  readonly charactersMax?: number;
}

type ReportedId = { readonly channel: string } | { readonly user: string };

/** An id that was reported. */
interface Noted {
  /** Value of `added` just after the id was last saved; undefined if the id is not saved. */
  savedAt: number | undefined;
  /** The pending save. */
  saving: Promise<void> | undefined;
}

/** Keeps the ids of the reported channels and members, because a game may write only to them (event reference). */
export function createReportedIds(options: ReportedIdsOptions): ReportedIds {
  const { store, isForChannels, report, charactersMax = REPORTED_MAX } = options;
  const known = createNewest<Noted>(charactersMax);
  /** Total length of the ids that were added to the store so far. */
  let added = 0;
  /** Total length of the ids whose save is pending. */
  let pending = 0;
  /**
   * Time since which all reported ids have been saved, ms since the epoch. An event that was created earlier may answer
   * a report whose ids were not saved, so the chat may show this event.
   */
  let sinceMs: number | undefined;
  let isFailing = false;

  async function save(id: ReportedId, noted: Noted): Promise<void> {
    const length = lengthOf(keyOf(id));
    pending += length;
    try {
      if (pending > charactersMax) throw new Error("too many ids wait for the store");
      await store.add(id);
      added += length;
      noted.savedAt = added;
      isFailing = false;
    } catch (error) {
      if (!isFailing)
        report(
          errorOf("cannot save reported ids (after a restart, messages to these ids are dropped)", error),
        );
      isFailing = true;
    } finally {
      pending -= length;
    }
  }

  /** The store drops the ids that were added longest ago, so an id that is still reported is added again in time. */
  const mustBeSaved = ({ savedAt }: Noted) => savedAt === undefined || added - savedAt > charactersMax / 2;

  async function noteId(id: ReportedId): Promise<void> {
    const noted = known.get(keyOf(id)) ?? { savedAt: undefined, saving: undefined };
    known.put(keyOf(id), noted);
    if (noted.saving === undefined && mustBeSaved(noted)) {
      noted.saving = save(id, noted).finally(() => (noted.saving = undefined));
    }
    await noted.saving;
  }

  return {
    async load(shown, hasRun) {
      for (const entry of await store.load()) {
        if ("sinceMs" in entry) {
          ({ sinceMs } = entry);
          continue;
        }
        added += lengthOf(keyOf(entry));
        known.put(keyOf(entry), { savedAt: added, saving: undefined });
      }
      if (sinceMs !== undefined) return;
      // An earlier release of the kit showed these messages without saving ids, so their channels and members count as
      // reported.
      await Promise.all(shown.flatMap(({ channel, user }) => idsOf(channel, user).map(noteId)));
      // The time is saved last: if a crash prevents this, the next run adds the ids again.
      sinceMs = hasRun ? Date.now() : 0;
      await store.add({ sinceMs });
    },
    async note({ channel, user }) {
      await Promise.all(idsOf(typeof channel === "string" ? channel : channel.id, user.id).map(noteId));
    },
    faultOf(event) {
      if (Date.parse(event.createdAt) < (sinceMs ?? 0)) return undefined;
      const isReported = (id: ReportedId): boolean => known.has(keyOf(id));
      const hasUser = event.type === "message.create" || isReported({ user: event.user });
      if (!hasUser) return "the bridge has never reported the member";
      const hasChannel =
        !isForChannels || event.type === "dm.create" || isReported({ channel: event.channel });
      return hasChannel ? undefined : "the bridge has never reported the channel";
    },
  };
}

/** Returns the id of a channel and, if `user` is not null, of a member. For a DM, returns only ids of members. */
function idsOf(channel: string, user: string | null): readonly ReportedId[] {
  const isDm = channel.startsWith(DM_PREFIX);
  const place = isDm ? { user: channel.slice(DM_PREFIX.length) } : { channel };
  return user === null || (isDm && place.user === user) ? [place] : [place, { user }];
}
