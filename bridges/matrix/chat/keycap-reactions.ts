import { LRUCache } from "lru-cache";
import type { Background } from "../background";
import { relationOf } from "../client/events";
import type { MatrixApi } from "../client/matrix-api";
import { isRejected } from "../client/matrix-error";
import { keycap, keycapNumber } from "./choices";

/** The keycaps that a message of the bridge should have. */
export interface WantedKeycaps {
  readonly roomId: string;
  readonly eventId: string;
  /** Keycaps 1 to `count` are shown. */
  readonly count: number;
  /** Id of the service's event that causes the change. The transaction ids are derived from this id. */
  readonly cause: string;
  /** The number of keycaps before the change; undefined if the number is not certain. */
  readonly before?: number;
}

const MESSAGES_KEPT = 500;
/** Marks a message to which no more keycaps are added until the next call of `want`. */
const STOPPED = "stopped";

export type KeycapReactions = ReturnType<typeof createKeycapReactions>;

/** Puts keycap reactions under the bridge's messages. Members press a button by adding the same reaction. */
export function createKeycapReactions(
  api: Pick<MatrixApi, "send" | "redact" | "reactions">,
  own: string,
  background: Pick<Background, "add" | "turn">,
) {
  /** For each message, the ids of the bridge's reaction events, keyed by the keycap's number. */
  const known = new LRUCache<string, Map<number, string>>({ max: MESSAGES_KEPT });
  /**
   * The newest argument of `want` for each message. A background task stops when `want` has been called again for its
   * message.
   */
  const newest = new LRUCache<string, WantedKeycaps | typeof STOPPED>({ max: MESSAGES_KEPT });

  /** Reads the bridge's keycaps from the homeserver, because `known` is empty after a restart. */
  async function read(roomId: string, eventId: string, signal: AbortSignal): Promise<Map<number, string>> {
    const found = new Map<number, string>();
    for (const reaction of await api.reactions(roomId, eventId, signal)) {
      const number = keycapNumber(relationOf(reaction).key ?? "");
      if (reaction.sender === own && number !== undefined) found.set(number, reaction.event_id);
    }
    return found;
  }

  async function change(wanted: WantedKeycaps, signal: AbortSignal): Promise<void> {
    const { roomId, eventId, count, cause } = wanted;
    const isNewest = () => newest.get(eventId) === wanted;
    if (!isNewest()) return;
    const present = known.get(eventId) ?? (await read(roomId, eventId, signal));
    known.set(eventId, present);
    for (const [number, reaction] of present) {
      if (number <= count || !isNewest()) continue;
      await api.redact(roomId, reaction, `${reaction}.off`, signal);
      present.delete(number);
    }
    for (let number = 1; number <= count && isNewest(); number += 1) {
      if (present.has(number)) continue;
      // The first request needs no wait, because the background has already waited for its turn.
      if (number > 1) await background.turn();
      if (!isNewest()) return;
      const relation = { rel_type: "m.annotation", event_id: eventId, key: keycap(number) };
      const txnId = `${cause}.key${number}`;
      try {
        present.set(
          number,
          await api.send(roomId, "m.reaction", txnId, { "m.relates_to": relation }, signal),
        );
      } catch (error) {
        if (!isRejected(error, "M_DUPLICATE_ANNOTATION")) throw error;
        // The keycap exists, but its event is unknown, so the next change reads the keycaps from the homeserver.
        known.delete(eventId);
      }
    }
  }

  return {
    /**
     * Adds no more keycaps to a message until the next call of `want`. Called before the request that closes the
     * message, because more keycaps would delay this request, and would soon be removed.
     */
    stop(eventId: string): void {
      if (newest.has(eventId)) newest.set(eventId, STOPPED);
    },
    /** Changes the keycaps in the background. Makes no request if the keycaps are already correct. */
    want(wanted: WantedKeycaps): void {
      const { roomId, eventId, count, before } = wanted;
      const present = known.get(eventId);
      const isRight = present === undefined ? before === count : present.size === count;
      if (isRight && !newest.has(eventId)) return;
      newest.set(eventId, wanted);
      if (before === 0 && present === undefined) known.set(eventId, new Map());
      background.add(roomId, `keycaps ${eventId}`, (signal) => change(wanted, signal));
    },
  };
}
