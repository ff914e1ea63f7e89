import { connectRedis } from "../../core/store/redis/redis";
import { asText } from "../../core/store/redis/reply";
import { until } from "./wait";

const SHARDS = 16;

/**
 * Connects to Redis. Returns functions that read who holds the leases of the shards.
 * @param group "!cores", or the name of a group of followers
 */
export async function watchLeases(redisUrl: string, group = "!cores") {
  const redis = await connectRedis({ url: redisUrl, onError: () => undefined });

  /** Returns an array of the token of each shard's holder; undefined for a shard without a holder. */
  const holders = () =>
    Promise.all(
      Array.from({ length: SHARDS }, async (_, shard) => {
        const key = `cb:{s${shard}}:lease:${group}`;
        const token = await redis.command(key, ["GET", key]);
        return token === null ? undefined : asText(token);
      }),
    );

  return {
    holders,
    /** Waits until `count` holders share all shards evenly. Returns the number of shards for each token. */
    untilShared: (count: number) =>
      until(`${count} holders share ${SHARDS} shards`, async () => {
        const parts = new Map<string, number>();
        for (const token of await holders()) {
          if (token === undefined) return undefined;
          parts.set(token, (parts.get(token) ?? 0) + 1);
        }
        const sizes = [...parts.values()];
        return parts.size === count && Math.max(...sizes) - Math.min(...sizes) <= 1 && parts;
      }),
    close: () => redis.close(),
  };
}
