import { CHANGES_LOGGED_MAX, type ChangeName } from "../../contract/changes";
import type { Change } from "../domain/workspace-changes";
import type { ChangeLog } from "../ports/store";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Redis } from "./redis/redis";
import { asList, asText } from "./redis/reply";

/** The stored form of a change: a JSON list. */
type StoredChange = readonly [by: string, change: ChangeName, detail: string];

export function encodeChange({ by, change, detail }: Change): string {
  const stored: StoredChange = [by, change, detail];
  return JSON.stringify(stored);
}

export function createChangeLog(redis: Redis, functions: Functions, keys: Keys): ChangeLog {
  const prefixOf = (workspaceId: string): string => keys.prefix(keys.shard(workspaceId));
  return {
    async append(workspaceId, change) {
      await functions.call("log_change", prefixOf(workspaceId), [workspaceId, encodeChange(change)]);
    },
    async read(workspaceId) {
      const key = `${prefixOf(workspaceId)}:audit:${workspaceId}`;
      const reply = await redis.command(key, [
        "XREVRANGE",
        key,
        "+",
        "-",
        "COUNT",
        String(CHANGES_LOGGED_MAX),
      ]);
      return asList(reply).map((entry) => {
        const [id, fields] = asList(entry);
        const [, stored] = asList(fields ?? null);
        const [by, change, detail] = JSON.parse(asText(stored ?? null)) as StoredChange;
        // The first part of an entry's id is the time at which Redis stored the entry, in ms.
        return { id: asText(id ?? null), atMs: Number.parseInt(asText(id ?? null), 10), by, change, detail };
      });
    },
  };
}
