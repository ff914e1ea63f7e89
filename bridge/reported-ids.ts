import { DM_PREFIX } from "./contract";
import { appendDurably, readIfThere, replaceDurably } from "./durable-file";
import type { DmCreate, MessageCreate, MessageEphemeral } from "./events";
import type { InboundEvent } from "./inbound-event";
import { errorOf } from "./problem";
import type { ShownMessage } from "./shown-messages";

/** An id that the bridge has reported, or the time since which the ids are saved, ms since the epoch. */
export type ReportedEntry =
  | { readonly channel: string }
  | { readonly user: string }
  | { readonly sinceMs: number };

/** A store for the ids of the channels and members that the bridge has reported. */
export interface ReportedStore {
  /** Resolves to the saved entries, oldest first. */
  load(): Promise<readonly ReportedEntry[]>;
  /** Replaces all entries. Resolves once the entries would survive a crash. */
  replace(entries: readonly ReportedEntry[]): Promise<void>;
  /** Adds entries. Resolves once the entries would survive a crash. */
  add(entries: readonly ReportedEntry[]): Promise<void>;
}

/** The events that begin a message in a channel or for a member. */
type Begun = MessageCreate | DmCreate | MessageEphemeral;

/** The channels and members that the bridge has reported. Games may write only to them. */
export interface ReportedIds {
  /** Loads the saved ids. `shown` are the saved messages. Rejects if the store cannot be read. */
  load(shown: readonly ShownMessage[]): Promise<void>;
  /** Notes the channel and the member of a report. Resolves once both are saved, and never rejects. */
  note(event: InboundEvent): Promise<void>;
  /** Returns why the chat must not show an event; undefined if the chat may show the event. */
  faultOf(event: Begun): string | undefined;
}

export interface ReportedIdsOptions {
  readonly store: ReportedStore;
  /** Whether also channels, and not only members, must be reported. */
  readonly isForChannels: boolean;
  /** Called when ids cannot be saved. */
  readonly report: (problem: Error) => void;
  /** Maximum length of all ids, in UTF-16 code units. The ids that were reported longest ago are dropped. */
  readonly charactersMax?: number;
}

const CHARACTERS_MAX = 4 * 1024 * 1024;
/** Length that an entry has besides its id. */
const ENTRY_CHARACTERS = 16;

/** Keeps the ids of the reported channels and members, because a game may write only to them (event reference). */
export function createReportedIds(options: ReportedIdsOptions): ReportedIds {
  const { store, isForChannels, report, charactersMax = CHARACTERS_MAX } = options;
  /** Keys of `keyOf`, the least recently reported first. The value is the pending save. */
  const known = new Map<string, Promise<void> | undefined>();
  let characters = 0;
  /** Events that are older were caused by reports that the store does not have. */
  let sinceMs = 0;
  let waiting: ReportedEntry[] = [];
  let writing: Promise<void> | undefined;
  let current: Promise<void> = Promise.resolve();
  let grown = 0;

  function put(key: string, saved: Promise<void> | undefined): void {
    if (!known.delete(key)) characters += key.length + ENTRY_CHARACTERS;
    known.set(key, saved);
    for (const oldest of known.keys()) {
      if (characters <= charactersMax) break;
      known.delete(oldest);
      characters -= oldest.length + ENTRY_CHARACTERS;
    }
  }

  const all = (): readonly ReportedEntry[] => [{ sinceMs }, ...[...known.keys()].map(entryOf)];

  /** Saves all entries that are waiting when the write before is done. Many reports thus share one write. */
  async function write(before: Promise<void>): Promise<void> {
    await before;
    writing = undefined;
    const entries = waiting;
    waiting = [];
    grown += entries.reduce((sum, entry) => sum + JSON.stringify(entry).length, 0);
    try {
      if (grown <= charactersMax) return await store.add(entries);
      grown = 0;
      await store.replace(all());
    } catch (error) {
      report(errorOf("cannot save reported ids (after a restart, messages to them are dropped)", error));
    }
  }

  function save(entry: ReportedEntry): Promise<void> {
    waiting.push(entry);
    writing ??= current = write(current);
    return writing;
  }

  return {
    async load(shown) {
      const entries = await store.load();
      for (const entry of entries) {
        if ("sinceMs" in entry) ({ sinceMs } = entry);
        else put(keyOf(entry), undefined);
      }
      if (entries.length === 0 && shown.length > 0) {
        // An earlier release of the kit did not save ids, but showed these messages.
        sinceMs = Date.now();
        for (const { channel, user } of shown) {
          for (const entry of entriesOf(channel, user)) put(keyOf(entry), undefined);
        }
      }
      await store.replace(all());
    },
    async note({ channel, user }) {
      const id = typeof channel === "string" ? channel : channel.id;
      const saves = entriesOf(id, user.id).map((entry) => {
        const key = keyOf(entry);
        const pending = known.has(key) ? known.get(key) : save(entry);
        put(key, pending);
        void pending?.then(() => known.get(key) === pending && known.set(key, undefined));
        return pending;
      });
      for (const saved of saves) await saved;
    },
    faultOf(event) {
      if (Date.parse(event.createdAt) < sinceMs) return undefined;
      const isReported = (entry: ReportedEntry): boolean => known.has(keyOf(entry));
      const hasUser = event.type === "message.create" || isReported({ user: event.user });
      if (!hasUser) return "the bridge has never reported the member";
      const hasChannel =
        !isForChannels || event.type === "dm.create" || isReported({ channel: event.channel });
      return hasChannel ? undefined : "the bridge has never reported the channel";
    },
  };
}

/** Returns the entries for a channel, or a DM, and its member, if any. */
function entriesOf(channel: string, user: string | null): readonly ReportedEntry[] {
  const isDm = channel.startsWith(DM_PREFIX);
  const place = isDm ? { user: channel.slice(DM_PREFIX.length) } : { channel };
  return user === null || (isDm && place.user === user) ? [place] : [place, { user }];
}

function keyOf(entry: ReportedEntry): string {
  if ("user" in entry) return `u${entry.user}`;
  return "channel" in entry ? `c${entry.channel}` : "";
}

function entryOf(key: string): ReportedEntry {
  return key.startsWith("u") ? { user: key.slice(1) } : { channel: key.slice(1) };
}

/** Returns a store that appends entries to a file, one JSON value per line. Lines that a crash cut are skipped. */
export function reportedFile(path: string): ReportedStore {
  const linesOf = (entries: readonly ReportedEntry[]) =>
    entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
  return {
    async load() {
      const lines = ((await readIfThere(path)) ?? "").split("\n");
      return lines.map(readEntry).filter((entry) => entry !== undefined);
    },
    replace: (entries) => replaceDurably(path, linesOf(entries)),
    // If an earlier write failed, the file may end within a line.
    add: (entries) => appendDurably(path, `\n${linesOf(entries)}`),
  };
}

/** Returns a store that keeps nothing: after a restart, no channel and no member is reported. */
export function reportedInMemory(): ReportedStore {
  return { load: async () => [], replace: async () => undefined, add: async () => undefined };
}

function readEntry(line: string): ReportedEntry | undefined {
  try {
    const { channel, user, sinceMs } = JSON.parse(line) as Partial<Record<string, unknown>>;
    if (typeof user === "string") return { user };
    if (typeof channel === "string") return { channel };
    return typeof sinceMs === "number" ? { sinceMs } : undefined;
  } catch {
    return undefined;
  }
}
