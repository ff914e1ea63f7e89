import type { ShardMemory } from "../domain/memory-budget";
import type { ServerMemory } from "../ports/backlog";
import type { Keys } from "./keys";
import { errorReply } from "./redis/connection";
import type { Redis } from "./redis/redis";
import { asText } from "./redis/reply";

/** Returns the value of a field of a reply to INFO; undefined when the reply does not contain the field. */
export function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1];
}

/** Returns the memory of a master, from its reply to INFO. */
export function toMemory(info: string): Omit<ServerMemory, "server"> {
  const number = (name: string): number => Number(fieldOf(info, name) ?? 0);
  // Buffers of replicas and of the append-only file do not count toward maxmemory.
  const usedBytes = number("used_memory") - number("mem_not_counted_for_evict");
  return { usedBytes, maxBytes: number("maxmemory") || undefined };
}

async function readInfo(redis: Redis, prefix: string): Promise<string> {
  try {
    return asText(await redis.command(prefix, ["INFO", "server", "memory"]));
  } catch (error) {
    if (errorReply(error)?.startsWith("NOPERM")) return "";
    throw error;
  }
}

/**
 * Returns the memory of each master.
 *
 * @param assumedBytes the memory of a master without `maxmemory`; 0 for no limit
 */
export async function readMemory(redis: Redis, assumedBytes: number): Promise<readonly ServerMemory[]> {
  const replies = await redis.everywhere(["INFO", "memory"]);
  return replies.map(({ server, reply }) => {
    const { usedBytes, maxBytes = assumedBytes || undefined } = toMemory(asText(reply));
    return { server, usedBytes, maxBytes };
  });
}

/**
 * Returns the memory that each shard can use. The result is undefined when a master has no limit. If the Redis user
 * lacks the permission for INFO, `assumedBytes` applies to each master.
 *
 * @param assumedBytes the memory of a master without `maxmemory`; 0 for no limit
 */
export async function readShardMemory(
  redis: Redis,
  keys: Keys,
  assumedBytes: number,
): Promise<ShardMemory | undefined> {
  const asked = redis.isOneMaster ? keys.prefixes.slice(0, 1) : keys.prefixes;
  const infos = await Promise.all(asked.map((prefix) => readInfo(redis, prefix)));
  const shardsOf = new Map<string, number>();
  const maxOf = new Map<string, number>();
  for (const info of infos) {
    const server = fieldOf(info, "run_id") ?? "";
    const maxBytes = toMemory(info).maxBytes ?? assumedBytes;
    if (maxBytes === 0) return undefined;
    shardsOf.set(server, (shardsOf.get(server) ?? 0) + (redis.isOneMaster ? keys.shards : 1));
    maxOf.set(server, maxBytes);
  }
  const ofShards = [...maxOf].map(([server, maxBytes]) => maxBytes / (shardsOf.get(server) ?? 1));
  return { ofMaster: Math.min(...maxOf.values()), ofShard: Math.min(...ofShards) };
}
