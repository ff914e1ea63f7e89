import { missingKeys } from "../domain/workspace";
import type { Clock } from "../ports/outside";
import type { SecretKeyUse, SecretKeys } from "../ports/secret-keys";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Redis } from "./redis/redis";
import { asList, asNumber, asText } from "./redis/reply";
import type { SecretBox } from "./secret-box";
import { createWorkspaceIndex } from "./workspace-index";
import { fromRecord, keysOfRecord, toRecord, withoutExpired } from "./workspace-record";

/** Number of workspaces in a page. Each call to `reEncrypt` writes at most this many records. */
const PAGE_MAX = 100;
/** Maximum number of attempts to re-encrypt records that other requests keep changing. */
const MOST_TRIES = 10;

interface Stored extends SecretKeyUse {
  readonly record: string;
  readonly version: string;
}

/**
 * Lists the keys with which the stored secrets are encrypted, and encrypts the secrets again with the newest key. Reads
 * bypass the cache of records.
 */
export function createSecretKeys(
  redis: Redis,
  functions: Functions,
  keys: Keys,
  box: SecretBox,
  now: Clock,
): SecretKeys {
  const index = createWorkspaceIndex(redis, keys);

  /** Reads stored records. Workspaces that have been deleted in the meantime are skipped. */
  async function readAll(shard: number, ids: readonly string[]): Promise<readonly Stored[]> {
    if (ids.length === 0) return [];
    const args = ids.flatMap((id) => [id, "0"]);
    const replies = asList(await functions.call("get_workspaces", keys.prefix(shard), args));
    return ids.flatMap((workspaceId, i) => {
      const [version, text] = asList(replies[i] ?? null);
      if (version === undefined || text === undefined) return [];
      const record = asText(text);
      const used = keysOfRecord(record, now());
      const missing = missingKeys(fromRecord(record, box), now());
      return [{ workspaceId, record, version: asText(version), keys: used, missingKeys: missing }];
    });
  }

  async function readPage(token: string) {
    const page = await index.page(token, PAGE_MAX);
    return page && { ...page, stored: await readAll(page.shard, page.ids) };
  }

  /**
   * Encrypts the readable secrets of records with the newest key. Returns the ids of the workspaces whose records were
   * replaced. Only the encryption changes: each workspace keeps its version, so no core has to read the workspace
   * again.
   */
  async function reEncrypt(shard: number, stored: readonly Stored[]): Promise<ReadonlySet<string>> {
    const changed = new Set<string>();
    let old = stored.filter(isOld(box.newest));
    // If cores with a different newest key keep changing a workspace, the attempts end, and `list` still shows the old
    // key.
    for (let tries = 0; tries < MOST_TRIES && old.length > 0; tries++) {
      const args = old.flatMap(({ workspaceId, version, record }) => {
        const workspace = withoutExpired(fromRecord(record, box), now());
        return [workspaceId, version, toRecord(workspace, box)];
      });
      const replies = asList(await functions.call("reseal_workspaces", keys.prefix(shard), args));
      for (const [i, { workspaceId }] of old.entries()) {
        if (asNumber(replies[i]) === 1) changed.add(workspaceId);
      }
      const outdated = old.map(({ workspaceId }) => workspaceId).filter((id) => !changed.has(id));
      old = (await readAll(shard, outdated)).filter(isOld(box.newest));
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
      const total = token === "" ? await index.count() : 0;
      const changed = await reEncrypt(page.shard, page.stored);
      const unreadable = page.stored.filter((stored) => stored.missingKeys.length > 0);
      const readable = page.stored.filter((stored) => stored.missingKeys.length === 0);
      return {
        changed: changed.size,
        already: readable.filter(({ workspaceId }) => !changed.has(workspaceId)).length,
        unreadable: unreadable.map(({ workspaceId }) => workspaceId),
        total,
        next: page.next,
      };
    },
  };
}

/** Returns whether any readable secret of a record is encrypted with a key other than the newest. */
function isOld(newest: string): (record: Stored) => boolean {
  return ({ keys, missingKeys: missing }) => keys.some((key) => key !== newest && !missing.includes(key));
}
