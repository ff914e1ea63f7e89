import type { ChangeName } from "../../contract/changes";
import type { Change, LoggedChange } from "../domain/workspace-changes";
import type { ChangeLog } from "../ports/workspaces";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Redis, Reply } from "./redis/redis";
import { asList, asText } from "./redis/reply";

const US_PER_MS = 1_000;

/** The stored form of a change: a JSON list. */
type StoredChange = readonly [by: string, change: ChangeName, detail: string];

export function encodeChange({ by, change, detail }: Change): string {
  const stored: StoredChange = [by, change, detail];
  return JSON.stringify(stored);
}

function toLoggedChange(entry: Reply): LoggedChange {
  const text = asText(entry);
  const end = text.indexOf(":");
  // The id of an entry is the time at which Redis stored the entry, in µs.
  const id = text.slice(0, end);
  const [by, change, detail] = JSON.parse(text.slice(end + 1)) as StoredChange;
  return { id, atMs: Math.trunc(Number(id) / US_PER_MS), by, change, detail };
}

/** The audit log: the changes that operators made, with the names of their tokens. */
export function createChangeLog(redis: Redis, functions: Functions, keys: Keys): ChangeLog {
  return {
    async append(workspaceId, change) {
      await functions.call("log_change", keys.prefixOf(workspaceId), [workspaceId, encodeChange(change)]);
    },
    async read(workspaceId) {
      const lists = ["changes", "sends"].map(async (list) => {
        const key = `${keys.prefixOf(workspaceId)}:${list}:${workspaceId}`;
        return asList(await redis.command(key, ["LRANGE", key, "0", "-1"])).map(toLoggedChange);
      });
      return (await Promise.all(lists)).flat().toSorted((a, b) => Number(b.id) - Number(a.id));
    },
  };
}
