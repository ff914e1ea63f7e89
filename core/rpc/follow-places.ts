import { status } from "@grpc/grpc-js";
import { CORE_STREAMS_MAX } from "../domain/bounds";
import { followShareOf, type Caller } from "../domain/caller";
import { createSlots } from "../domain/slots";
import { StatusError } from "./status";

/**
 * Maximum number of streams of a token that are opened at the same time. To open a stream takes some twenty calls to
 * the store. Further streams wait.
 */
const OPENINGS_MAX = 8;

/** The place of one stream on this core. */
export interface FollowPlace {
  /** Runs `open` when few other streams of the token are being opened. */
  whenTurn<T>(open: () => Promise<T>): Promise<T>;
  /** Must be called once, after the stream has ended. */
  leave(): void;
}

/** Counts the `Follow` streams of this core. Returns a function that throws when there is no place for another stream. */
export function createFollowPlaces(): (caller: Caller) => FollowPlace {
  /** Number of all streams, including streams that have not sent a request yet. */
  let streams = 0;
  const tokens = new Map<string, { streams: number; readonly openings: ReturnType<typeof createSlots> }>();
  return (caller) => {
    const { name } = caller;
    const share = followShareOf(caller).streams;
    const token = tokens.get(name) ?? { streams: 0, openings: createSlots(OPENINGS_MAX) };
    if (token.streams >= share) {
      throw isFull(`the token ${name} already has ${share} Follow streams on this core, which is its share`);
    }
    if (streams >= CORE_STREAMS_MAX) {
      throw isFull(`this core already has ${CORE_STREAMS_MAX} Follow streams, which is the limit`);
    }
    tokens.set(name, token);
    streams += 1;
    token.streams += 1;
    return {
      whenTurn: token.openings.run,
      leave() {
        streams -= 1;
        token.streams -= 1;
        if (token.streams === 0) tokens.delete(name);
      },
    };
  };
}

function isFull(what: string): StatusError {
  return new StatusError(status.RESOURCE_EXHAUSTED, `${what}: use another core, or retry later`);
}
