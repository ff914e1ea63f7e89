import type { Redis } from "./redis/redis";

/** The part of a shard that may have new events: the inbound log ("in") or the push queue ("push"). */
type WakeOf = "in" | "push";

export type Wakes = Awaited<ReturnType<typeof listenForWakes>>;

/** A channel names one or more shards, e.g. `cb:{s3,s7}:wake:in`. */
const CHANNEL = /^cb:\{([s\d,]+)\}:wake:(in|push)$/;

/**
 * Listens for wakes. A wake has no content and may be lost. So a listener reads the store after each wake, and also at
 * regular intervals.
 */
export async function listenForWakes(redis: Redis) {
  const listeners = { in: new Set<(shard: number) => void>(), push: new Set<(shard: number) => void>() };
  await redis.subscribe("cb:{s*}:wake:*", (channel) => {
    const [, shards = "", of] = CHANNEL.exec(channel) ?? [];
    if (of !== "in" && of !== "push") return;
    for (const shard of shards.split(",")) {
      for (const wake of listeners[of]) wake(Number(shard.slice(1)));
    }
  });
  return {
    /** Calls `wake` with the number of each shard for which a wake arrives. Returns a function that stops the calls. */
    on(of: WakeOf, wake: (shard: number) => void): () => void {
      listeners[of].add(wake);
      return () => listeners[of].delete(wake);
    },
  };
}
