import type { Workspace } from "../domain/workspace";
import type { Keys } from "./keys";
import type { Redis } from "./redis/redis";
import { asList, asNumber, asText } from "./redis/reply";

/** Pattern of an index entry: the time of creation in ms, and the workspace id. */
export const ENTRY_FORM = /^[0-9]{13}:[0-9a-f-]{36}$/;

/** Returns the entry of a workspace in the index of its shard. */
export function indexEntry({ createdAtMs, id }: Workspace): string {
  return `${String(createdAtMs).padStart(13, "0")}:${id}`;
}

/** Returns the workspace id in an index entry. */
export function idOfEntry(entry: string): string {
  return entry.slice(entry.indexOf(":") + 1);
}

/**
 * Pattern of a page token: a shard, and the index entry to continue after. A token without an index entry stands for
 * the shard's first page.
 */
const TOKEN_FORM = /^([0-9]{1,5})\/(.*)$/;

/** A page of the workspaces of one shard. */
export interface IndexPage {
  readonly shard: number;
  readonly ids: readonly string[];
  /** The token of the next page, which may belong to the next shard; undefined on the last page. */
  readonly next: string | undefined;
}

/** Reads the index of the workspaces. */
export function createWorkspaceIndex(redis: Redis, keys: Keys) {
  const keyOf = (prefix: string): string => `${prefix}:all`;

  /** Returns the newest `size` entries of a shard that are older than `after`, newest first. */
  async function entries(
    prefix: string,
    size: number,
    after: string | undefined,
  ): Promise<readonly string[]> {
    const key = keyOf(prefix);
    const from = after === undefined ? "+" : `(${after}`;
    const command = ["ZRANGE", key, from, "-", "BYLEX", "REV", "LIMIT", "0", String(size)];
    return asList(await redis.command(key, command)).map(asText);
  }

  return {
    /** Returns the newest `size` entries of each shard that are older than `after`. */
    async newest(size: number, after: string | undefined): Promise<readonly string[]> {
      return (await Promise.all(keys.prefixes.map((prefix) => entries(prefix, size, after)))).flat();
    },
    /**
     * Returns a page of up to `size` workspaces, newest first within each shard; undefined when the token is invalid.
     *
     * @param token the `next` of the previous page; empty for the first page
     */
    async page(token: string, size: number): Promise<IndexPage | undefined> {
      const [, digits = "", after = ""] = TOKEN_FORM.exec(token || "0/") ?? [];
      const shard = Number(digits);
      if (digits === "" || shard >= keys.shards || (after !== "" && !ENTRY_FORM.test(after)))
        return undefined;
      const found = await entries(keys.prefix(shard), size, after || undefined);
      const isLast = found.length < size;
      const isEnd = isLast && shard + 1 === keys.shards;
      const next = isLast ? `${shard + 1}/` : `${shard}/${found.at(-1) ?? ""}`;
      return { shard, ids: found.map(idOfEntry), next: isEnd ? undefined : next };
    },
    /** Returns the number of workspaces. */
    async count(): Promise<number> {
      const counts = keys.prefixes.map(async (prefix) =>
        asNumber(await redis.command(keyOf(prefix), ["ZCARD", keyOf(prefix)])),
      );
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    },
  };
}
