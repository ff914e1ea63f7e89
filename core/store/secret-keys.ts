import { missingKeys } from "../domain/workspace";
import type { Clock } from "../ports/outside";
import type { SecretKeyUse, SecretKeys } from "../ports/secret-keys";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Redis } from "./redis/redis";
import { asList, asNumber, asText } from "./redis/reply";
import type { SecretBox } from "./secret-box";
import { createWorkspaceIndex, ENTRY_FORM, idOfEntry } from "./workspace-index";
import { fromRecord, keysOfRecord, toRecord, withoutExpired } from "./workspace-record";

/** Number of workspaces in a page: a call of `reEncrypt` writes at most as many records. */
const PAGE_MAX = 100;
/** The form of a page token: a shard, and the index entry to continue after. Without an entry, the shard's first page. */
const TOKEN_FORM = /^([0-9]{1,5})\/(.*)$/;
/** The attempts to re-encrypt records that other requests keep changing. */
const MOST_TRIES = 10;

interface Place {
  readonly shard: number;
  readonly after: string | undefined;
}

interface Stored extends SecretKeyUse {
  readonly record: string;
  readonly version: string;
}

/** Reads and replaces the keys that encrypt the stored secrets. Reads bypass the cache of records. */
export function createSecretKeys(
  redis: Redis,
  functions: Functions,
  keys: Keys,
  box: SecretBox,
  now: Clock,
): SecretKeys {
  const index = createWorkspaceIndex(redis, keys);

  function parse(token: string): Place | undefined {
    if (token === "") return { shard: 0, after: undefined };
    const [, shard = "", after = ""] = TOKEN_FORM.exec(token) ?? [];
    const isValid = shard !== "" && Number(shard) < keys.shards && (after === "" || ENTRY_FORM.test(after));
    return isValid ? { shard: Number(shard), after: after || undefined } : undefined;
  }

  /** Reads stored records. A workspace that was deleted meanwhile is skipped. */
  async function readAll(shard: number, ids: readonly string[]): Promise<readonly Stored[]> {
    if (ids.length === 0) return [];
    const args = ids.flatMap((id) => [id, "0"]);
    const replies = asList(await functions.call("get_workspaces", keys.prefix(shard), args));
    return ids.flatMap((workspaceId, i) => {
      const [version, text] = asList(replies[i] ?? null);
      if (version === undefined || text === undefined) return [];
      const record = asText(text);
      const missing = missingKeys(fromRecord(record, box), now());
      return [
        {
          workspaceId,
          record,
          version: asText(version),
          keys: keysOfRecord(record, now()),
          missingKeys: missing,
        },
      ];
    });
  }

  async function readPage(token: string) {
    const place = parse(token);
    if (place === undefined) return undefined;
    const { shard, after } = place;
    const entries = await index.entries(shard, PAGE_MAX, after);
    const stored = await readAll(shard, entries.map(idOfEntry));
    const isLast = entries.length < PAGE_MAX;
    const isEnd = isLast && shard + 1 === keys.shards;
    const next = isEnd ? undefined : isLast ? `${shard + 1}/` : `${shard}/${entries.at(-1) ?? ""}`;
    return { shard, stored, next };
  }

  /** Whether a readable secret of the record is encrypted with another key than the newest. */
  function isOld({ keys: used, missingKeys: missing }: Stored): boolean {
    return used.some((key) => key !== box.newest && !missing.includes(key));
  }

  /**
   * Encrypts the readable secrets of records with the newest key. Returns the ids of the changed workspaces. The versions do
   * not change, because the workspaces do not change either: no core has to read a workspace again.
   */
  async function reEncrypt(shard: number, stored: readonly Stored[]): Promise<ReadonlySet<string>> {
    const changed = new Set<string>();
    let old = stored.filter(isOld);
    // If cores with other keys keep changing a workspace, `list` still shows the old key.
    for (let tries = 0; tries < MOST_TRIES && old.length > 0; tries++) {
      const args = old.flatMap(({ workspaceId, version, record }) => {
        const workspace = withoutExpired(fromRecord(record, box), now());
        return [workspaceId, version, toRecord(workspace, box)];
      });
      const reply = asList(await functions.call("reseal_workspaces", keys.prefix(shard), args));
      const isChanged = reply.map((each) => asNumber(each) === 1);
      for (const [i, { workspaceId }] of old.entries()) if (isChanged[i]) changed.add(workspaceId);
      const outdated = old.filter((_, i) => !isChanged[i]);
      old = (
        await readAll(
          shard,
          outdated.map(({ workspaceId }) => workspaceId),
        )
      ).filter(isOld);
    }
    return changed;
  }

  return {
    newest: box.newest,
    async list(token) {
      const page = await readPage(token);
      return page && { uses: page.stored, next: page.next };
    },
    async reEncrypt(token) {
      const page = await readPage(token);
      if (page === undefined) return undefined;
      const shards = token === "" ? Array.from({ length: keys.shards }, (_, shard) => shard) : [];
      const counts = await Promise.all(shards.map((shard) => index.count(shard)));
      const changed = await reEncrypt(page.shard, page.stored);
      const unreadable = page.stored.filter((stored) => stored.missingKeys.length > 0);
      const isUnchanged = (stored: Stored): boolean =>
        stored.missingKeys.length === 0 && !changed.has(stored.workspaceId);
      return {
        changed: changed.size,
        already: page.stored.filter(isUnchanged).length,
        unreadable: unreadable.map(({ workspaceId }) => workspaceId),
        total: counts.reduce((sum, count) => sum + count, 0),
        next: page.next,
      };
    },
  };
}
