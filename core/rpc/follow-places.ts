import { status } from "@grpc/grpc-js";
import { createShares } from "../../runtime/shares";
import { CORE_STREAMS_MAX, FOLLOW_SHARE, LIMITED_FOLLOW_SHARE, PARKED_EVENTS_MAX } from "../domain/bounds";
import type { Caller } from "../domain/caller";
import { createFairSlots } from "../domain/fair-slots";
import type { Parking } from "../operations/parked-events";
import { StatusError } from "./status";
import { ownerOf } from "./token-shares";

/**
 * Maximum number of streams that are opened at the same time: in total, and for one token. Opening a stream takes about
 * twenty calls to the store. Further streams wait, and the tokens take turns.
 */
const OPENINGS_MAX = { inAll: 16, ofOne: 8 };

/** The place of one stream on this core. */
export type FollowPlace = ReturnType<ReturnType<typeof createFollowPlaces>>;

/** Counts the `Follow` streams of this core. Returns a function that throws when there is no place for another stream. */
export function createFollowPlaces() {
  const { streams: token } = FOLLOW_SHARE;
  const { streams: limitedToken } = LIMITED_FOLLOW_SHARE;
  /** Counts all streams, including those that have not sent a request yet. */
  const { max, acquire } = createShares({ token, limitedToken, all: CORE_STREAMS_MAX });
  const { shard: _ofShard, ...parkedMax } = PARKED_EVENTS_MAX;
  const parkedEvents = createShares(parkedMax);
  const openings = createFairSlots(OPENINGS_MAX);
  return (caller: Caller) => {
    const { name } = caller;
    const leave = acquire(ownerOf(caller));
    if (typeof leave === "string") {
      const full =
        leave === "all"
          ? `this core already has ${max.all} Follow streams, which is the limit`
          : `the token ${name} already has ${max[leave]} Follow streams on this core, which is its share`;
      throw new StatusError(status.RESOURCE_EXHAUSTED, `${full}: use another core, or retry later`);
    }
    const parking: Parking = {
      reserve(places) {
        const release = parkedEvents.acquire(ownerOf(caller), places);
        return typeof release === "string" ? undefined : release;
      },
    };
    return {
      parking,
      /** Runs `open` as soon as `OPENINGS_MAX` allows another opening. */
      whenTurn: <T>(open: () => Promise<T>): Promise<T> => openings.run(name, open),
      /** Must be called after the stream has ended. */
      leave,
    };
  };
}
