import { LRUCache } from "lru-cache";
import type { Message } from "chat-bridge-kit";

interface States {
  readonly before: Message | undefined;
  readonly after: Message;
}

interface Change extends States {
  readonly txnId: string;
  readonly atMs: number;
}

const MESSAGES_KEPT = 500;
const CHANGES_MAX = 20;
const ECHOES_KEPT = 2_000;
/** Milliseconds after which a change takes effect even if the bridge has not read it in the timeline. */
const ECHO_WITHIN_MS = 30_000;

export type TimelineStates = ReturnType<typeof createTimelineStates>;

/**
 * Tracks the state of each of the bridge's messages at the last position that the bridge has read in the homeserver's
 * timeline.
 *
 * A member who reacts just before an edit answers the old message. The bridge may read the reaction after sending the
 * edit, so only the order of the timeline is reliable. An edit takes effect here once the bridge has read the edit in
 * the timeline. The same rule applies to reactions that members added while the bridge was stopped.
 *
 * @param now returns the time of a monotonic clock, ms
 */
export function createTimelineStates(now: () => number = () => performance.now()) {
  const changes = new LRUCache<string, readonly Change[]>({ max: MESSAGES_KEPT });
  const echoes = new LRUCache<string, true>({ max: ECHOES_KEPT });
  const hasCome = ({ txnId, atMs }: Change) => echoes.has(txnId) || now() - atMs > ECHO_WITHIN_MS;

  return {
    /** Notes a change before it is sent. `before` is undefined for a new message. */
    begin({ eventId, ...change }: { readonly eventId: string; readonly txnId: string } & States): void {
      const earlier = changes.get(eventId) ?? [];
      const repeated = earlier.filter(({ txnId }) => txnId !== change.txnId);
      // The newest change that the bridge has read in the timeline replaces all earlier changes.
      const base = repeated.findLastIndex(hasCome);
      changes.set(
        eventId,
        [...repeated.slice(Math.max(0, base)), { ...change, atMs: now() }].slice(-CHANGES_MAX),
      );
    },
    /** Notes that the homeserver rejected a change. */
    failed(eventId: string, txnId: string): void {
      changes.set(
        eventId,
        (changes.get(eventId) ?? []).filter((change) => change.txnId !== txnId),
      );
    },
    /** Notes that the bridge read one of its own events in the timeline. */
    echoed: (txnId: string): void => void echoes.set(txnId, true),
    /** Returns the message as it was at the timeline position that was read last. `latest` is the current message. */
    at(eventId: string, latest: Message): Message | undefined {
      const list = changes.get(eventId) ?? [];
      // The edits of a message are sent one after another, so an edit that has taken effect follows all earlier edits.
      const pending = list[list.findLastIndex(hasCome) + 1];
      if (pending !== undefined) return pending.before;
      return list.at(-1)?.after ?? latest;
    },
  };
}
