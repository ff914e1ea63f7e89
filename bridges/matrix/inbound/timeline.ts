import type { JoinedRoom, MatrixEvent } from "../client/events";
import type { MatrixApi } from "../client/matrix-api";
import { untilAnswered } from "../client/retrying";
import { ROOM_FILTER } from "../client/sync-loop";

/** Maximum number of pages of 100 older events that are read when a sync omits events. */
const PAGES_MAX = 10;

/**
 * Resolves to the new events of a room, the oldest first. If the answer of the sync omits events, this function fetches
 * the omitted events. Events from before the bridge joined the room are left out. `onFailure` is called if older events
 * cannot be fetched.
 */
export async function newEvents(
  api: Pick<MatrixApi, "olderEvents">,
  room: { readonly id: string; readonly own: string; readonly since: string | undefined },
  { timeline = {} }: JoinedRoom,
  { signal, onFailure }: { readonly signal: AbortSignal; readonly onFailure: (error: unknown) => void },
): Promise<readonly MatrixEvent[]> {
  const { id, own, since } = room;
  const events = timeline.events ?? [];
  const joinedAt = (list: readonly MatrixEvent[]) => list.findLastIndex((event) => isJoin(event, own));
  if (joinedAt(events) !== -1) return events.slice(joinedAt(events) + 1);
  if (timeline.limited !== true || timeline.prev_batch === undefined || since === undefined) return events;

  const older: MatrixEvent[] = [];
  let from: string | undefined = timeline.prev_batch;
  for (let page = 0; page < PAGES_MAX && from !== undefined; page += 1) {
    const range: { from: string; to: string } = { from, to: since };
    const read = () => api.olderEvents(id, range, ROOM_FILTER, signal);
    const answer: Awaited<ReturnType<typeof read>> = await untilAnswered(read, { signal }).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        // The homeserver rejects the request, e.g. because the bridge has since left the room.
        onFailure(error);
        return { chunk: [] };
      },
    );
    older.push(...answer.chunk);
    if (joinedAt(older) !== -1) break;
    from = answer.end === from ? undefined : answer.end;
  }
  const all = [...older.toReversed(), ...events];
  return all.slice(joinedAt(all) + 1);
}

/** Whether an event is the bridge's own join. A change of the bridge's name is also a membership event. */
function isJoin({ type, state_key: key, content, unsigned }: MatrixEvent, own: string): boolean {
  const isOwn = type === "m.room.member" && key === own && content["membership"] === "join";
  return isOwn && unsigned?.prev_content?.["membership"] !== "join";
}
