import { connectRedis, type Redis } from "../../core/store/redis";
import { asText } from "../../core/store/reply";
import { until } from "./wait";

/** The leases of shards as they stand in the store. */
export interface ShardLeases {
  /** The token that holds each shard, undefined where none does. */
  holders(): Promise<readonly (string | undefined)[]>;
  /** Waits until every shard is held, by so many holders, each with its even part; answers how many each has. */
  untilShared(holders: number): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}

const SHARDS = 16;

/** @param group "!cores", or a group of followers */
export async function watchLeases(redisUrl: string, group = "!cores"): Promise<ShardLeases> {
  const redis: Redis = await connectRedis({ url: redisUrl, onError: () => undefined });

  function holders(): Promise<readonly (string | undefined)[]> {
    return Promise.all(
      Array.from({ length: SHARDS }, async (_, shard) => {
        const key = `cb:{s${shard}}:lease:${group}`;
        const token = await redis.command(key, ["GET", key]);
        return token === null ? undefined : asText(token);
      }),
    );
  }

  return {
    holders,
    untilShared: (count) =>
      until(`${SHARDS} shards are shared by ${count}`, async () => {
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
