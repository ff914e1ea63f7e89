import type { StateFile } from "../state-file";
import type { SyncAnswer } from "./events";
import { SYNC_HOLD_MS, type MatrixApi } from "./matrix-api";
import { isRejected } from "./matrix-error";
import { untilAnswered } from "./retrying";

/** The content of `sync.json`: the position in the homeserver's stream of events. */
export interface SyncPosition {
  readonly userId: string;
  readonly since: string;
}

/** Event types that the bridge reads from timelines and states. */
const TYPES = [
  "m.room.message",
  "m.reaction",
  "m.room.encrypted",
  "m.room.encryption",
  "m.room.history_visibility",
  "m.room.member",
  "m.room.name",
  "m.room.power_levels",
  "m.room.tombstone",
];
const TIMELINE_EVENTS = 100;

/** The filter for events of a room. */
export const ROOM_FILTER = { types: TYPES, lazy_load_members: true };
const NOTHING = { types: [] };
const FILTER = {
  presence: NOTHING,
  account_data: { types: ["m.direct"] },
  room: {
    ephemeral: NOTHING,
    account_data: NOTHING,
    state: ROOM_FILTER,
    timeline: { ...ROOM_FILTER, limit: TIMELINE_EVENTS },
  },
};
/** At the first start, the bridge reads invites, but no events from before the start. */
const FIRST_FILTER = {
  ...FILTER,
  room: { ...FILTER.room, state: NOTHING, timeline: { ...NOTHING, limit: 1 } },
};

export interface SyncOptions {
  readonly api: Pick<MatrixApi, "sync">;
  /** The last `next_batch`, from which the bridge continues after a restart. */
  readonly position: StateFile<SyncPosition>;
  readonly userId: string;
  /**
   * Called with each answer, and with the position before the answer (undefined at the first start). Resolves once all
   * events of the answer are reported. The sync loop saves the new position only after this promise has resolved.
   * Rejects only when the signal is aborted.
   */
  handle(answer: SyncAnswer, since: string | undefined): Promise<void>;
  /** Called with undefined after each answer, and with the failure when a sync fails. */
  onContact(failure: unknown): void;
  readonly signal: AbortSignal;
}

/** Follows the events of all rooms until the signal is aborted. Rejects when the homeserver rejects the account. */
export async function runSync(options: SyncOptions): Promise<void> {
  const { api, position, userId, handle, onContact, signal } = options;
  const saved = await position.load();
  let since = saved?.userId === userId ? saved.since : undefined;
  while (!signal.aborted) {
    const from = since;
    const ask = () =>
      api.sync({
        since: from,
        filter: from === undefined ? FIRST_FILTER : FILTER,
        holdMs: from === undefined ? 0 : SYNC_HOLD_MS,
        signal,
      });
    let answer: SyncAnswer;
    try {
      answer = await untilAnswered(ask, { signal, onFailure: onContact });
    } catch (error) {
      // The homeserver rejected the position, e.g. because its database was replaced, so the bridge continues with new
      // events only.
      if (from === undefined || !isRejected(error, "M_UNKNOWN_POS", "M_UNKNOWN", "M_INVALID_PARAM"))
        throw error;
      onContact(error);
      since = undefined;
      continue;
    }
    onContact(undefined);
    await handle(answer, from);
    if (answer.next_batch !== from) await position.save({ userId, since: answer.next_batch });
    since = answer.next_batch;
  }
}
