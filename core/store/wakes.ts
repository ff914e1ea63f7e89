import type { Redis } from "./redis";

/** What may have something new in a shard: the inbound log, or the push queue. */
export type WakeOf = "in" | "push";

/**
 * Wakes from the store. They carry nothing and may be lost: whoever listens looks
 * for itself, and looks now and then without a wake too.
 */
export interface Wakes {
  /** Calls back with the shard. Returns how to stop that. */
  on(of: WakeOf, wake: (shard: number) => void): () => void;
}

const CHANNEL = /^cb:\{s(\d+)\}:wake:(in|push)$/;

export async function listenForWakes(redis: Redis): Promise<Wakes> {
  const listeners = new Map<string, Set<(shard: number) => void>>([
    ["in", new Set()],
    ["push", new Set()],
  ]);
  await redis.subscribe("cb:{s*}:wake:*", (channel) => {
    const [, shard, of = ""] = CHANNEL.exec(channel) ?? [];
    for (const wake of listeners.get(of) ?? []) wake(Number(shard));
  });
  return {
    on(of, wake) {
      listeners.get(of)?.add(wake);
      return () => listeners.get(of)?.delete(wake);
    },
  };
}
