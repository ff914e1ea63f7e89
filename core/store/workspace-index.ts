import type { Workspace } from "../domain/workspace";
import type { Keys } from "./keys";
import type { Redis } from "./redis/redis";
import { asList, asNumber, asText } from "./redis/reply";

/** The form of an index entry. */
export const ENTRY_FORM = /^[0-9]{13}:[0-9a-f-]{36}$/;

/** Returns the entry of a workspace in the index of its shard. */
export function indexEntry({ createdAtMs, id }: Workspace): string {
  return `${String(createdAtMs).padStart(13, "0")}:${id}`;
}

/** Returns the workspace id in an index entry. */
export function idOfEntry(entry: string): string {
  return entry.slice(entry.indexOf(":") + 1);
}

/** Reads the index of the workspaces of a shard. */
export function createWorkspaceIndex(redis: Redis, keys: Keys) {
  const keyOf = (shard: number): string => `${keys.prefix(shard)}:all`;
  return {
    /** Returns the newest `size` entries older than `after`, newest first. */
    async entries(shard: number, size: number, after: string | undefined): Promise<readonly string[]> {
      const key = keyOf(shard);
      const from = after === undefined ? "+" : `(${after}`;
      const command = ["ZRANGE", key, from, "-", "BYLEX", "REV", "LIMIT", "0", String(size)];
      return asList(await redis.command(key, command)).map(asText);
    },
    /** Returns the number of workspaces of a shard. */
    async count(shard: number): Promise<number> {
      return asNumber(await redis.command(keyOf(shard), ["ZCARD", keyOf(shard)]));
    },
  };
}
