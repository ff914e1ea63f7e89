import { status } from "@grpc/grpc-js";
import { CORE_STREAMS_MAX } from "../domain/bounds";
import { followShareOf, type Caller } from "../domain/caller";
import { createFairSlots } from "../domain/fair-slots";
import { StatusError } from "./status";

/**
 * Maximum number of streams that are opened at the same time, of all tokens and of one token. To open a stream takes some
 * twenty calls to the store. Further streams wait, and the tokens take turns.
 */
const OPENINGS_MAX = { inAll: 16, ofOne: 8 };

/** The place of one stream on this core. */
export type FollowPlace = ReturnType<ReturnType<typeof createFollowPlaces>>;

/** Counts the `Follow` streams of this core. Returns a function that throws when there is no place for another stream. */
export function createFollowPlaces() {
  /** Number of all streams, including streams that have not sent a request yet. */
  let streams = 0;
  const streamsOf = new Map<string, number>();
  const openings = createFairSlots(OPENINGS_MAX);
  return (caller: Caller) => {
    const { name } = caller;
    const share = followShareOf(caller).streams;
    const ofToken = streamsOf.get(name) ?? 0;
    if (ofToken >= share) {
      throw isFull(`the token ${name} already has ${share} Follow streams on this core, which is its share`);
    }
    if (streams >= CORE_STREAMS_MAX) {
      throw isFull(`this core already has ${CORE_STREAMS_MAX} Follow streams, which is the limit`);
    }
    streams += 1;
    streamsOf.set(name, ofToken + 1);
    return {
      /** Runs `open` when few other streams are being opened. */
      whenTurn: <T>(open: () => Promise<T>): Promise<T> => openings.run(name, open),
      /** Must be called once, after the stream has ended. */
      leave(): void {
        streams -= 1;
        const left = (streamsOf.get(name) ?? 0) - 1;
        if (left === 0) streamsOf.delete(name);
        else streamsOf.set(name, left);
      },
    };
  };
}

function isFull(what: string): StatusError {
  return new StatusError(status.RESOURCE_EXHAUSTED, `${what}: use another core, or retry later`);
}
