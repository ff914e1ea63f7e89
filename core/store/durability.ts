import type { Durability, ServerPersistence } from "../ports/durability";
import { backupKeys, type Keys } from "./keys";
import { fieldOf } from "./memory";
import type { Redis, Reply } from "./redis/redis";
import { asList, asText } from "./redis/reply";

function toPersistence(info: string): Omit<ServerPersistence, "server"> {
  // A field that a managed Redis service does not report is not a fault.
  const isOk = (name: string): boolean => (fieldOf(info, name) ?? "ok") === "ok";
  const bytes = Number(fieldOf(info, "aof_current_size"));
  return {
    succeeded: {
      append: isOk("aof_last_write_status"),
      rewrite: isOk("aof_last_bgrewrite_status"),
      snapshot: isOk("rdb_last_bgsave_status"),
    },
    appendOnlyBytes: fieldOf(info, "aof_enabled") === "1" && Number.isFinite(bytes) ? bytes : undefined,
  };
}

/** Returns a stored time in seconds; 0 if it is missing or invalid. */
function toTime(reply: Reply): number {
  const text = reply === null || reply === undefined ? "" : asText(reply);
  return /^\d{1,12}$/.test(text) ? Number(text) : 0;
}

export function createDurability(redis: Redis, keys: Keys): Durability {
  return {
    async readPersistence() {
      const replies = await redis.everywhere(["INFO", "persistence"]);
      return replies.map(({ server, reply }) => ({ server, ...toPersistence(asText(reply)) }));
    },
    async readBackups() {
      const pairs = backupKeys(keys, redis.isOneMaster).map(async ({ complete, failed }) => {
        const reply = await redis.command(complete, ["MGET", complete, failed]);
        return asList(reply).map(toTime);
      });
      const times = await Promise.all(pairs);
      return {
        completeAt: Math.min(...times.map(([complete = 0]) => complete)),
        failedAt: Math.max(...times.map(([complete = 0, failed = 0]) => (failed >= complete ? failed : 0))),
      };
    },
  };
}
