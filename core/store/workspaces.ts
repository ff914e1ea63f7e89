import { LRUCache } from "lru-cache";
import { deliveryMode, type Workspace } from "../domain/workspace";
import type { WorkspaceRecord, Workspaces } from "../ports/workspaces";
import type { Change } from "../domain/workspace-changes";
import { encodeChange } from "./change-log";
import { batchFunction } from "./function-batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Redis, Reply } from "./redis/redis";
import { asList, asNumber, asText } from "./redis/reply";
import { createWorkspaceIndex, ENTRY_FORM, idOfEntry, indexEntry } from "./workspace-index";
import { fromRecord, toRecord } from "./workspace-record";
import type { SecretBox } from "./secret-box";

/**
 * Maximum bytes of cached records (an LRU cache, whose entries are checked against the stored versions): enough for
 * about 120,000 records. A request for a workspace whose record is not cached costs a read and a decryption.
 */
const REMEMBERED_MAX_BYTES = 160 * 1024 * 1024;
/** Approximate bytes that a cached record takes in addition to its text. */
const RECORD_BYTES = 512;
const BATCH_MAX = 100;

/**
 * A workspace to read, and its cached record if there is one. If the cached record is current, Redis does not send the
 * record, and core does not decrypt the record again.
 */
interface Wanted {
  readonly id: string;
  readonly known: WorkspaceRecord | undefined;
}

type Fetched = { readonly text: string; readonly version: number } | "unchanged" | "none";

function toFetched(reply: Reply): Fetched {
  const [version, record] = asList(reply);
  if (version === undefined) return "none";
  return record === undefined ? "unchanged" : { text: asText(record), version: asNumber(version) };
}

/** Returns the newest `size` index entries older than `after`, newest first, and the token of the next page. */
function toPage(entries: readonly string[], size: number, after: string | undefined) {
  const older = entries.filter((entry) => after === undefined || entry < after);
  const newest = older.toSorted().toReversed();
  const page = newest.slice(0, size);
  return { page, next: newest.length > size ? page.at(-1) : undefined };
}

export function createWorkspaces(
  redis: Redis,
  functions: Functions,
  keys: Keys,
  box: SecretBox,
  rememberedMaxBytes = REMEMBERED_MAX_BYTES,
): Workspaces {
  const index = createWorkspaceIndex(redis, keys);
  const remembered = new LRUCache<string, WorkspaceRecord>({ maxSize: rememberedMaxBytes });

  /** @param text the stored record. The parsed record is about as large as this text, at two bytes per character. */
  function remember(record: WorkspaceRecord, text: string): void {
    remembered.set(record.workspace.id, record, { size: RECORD_BYTES + 2 * text.length });
  }

  const { one: fetch } = batchFunction<Wanted, Fetched>(functions, keys, {
    name: "get_workspaces",
    most: BATCH_MAX,
    toArguments: (wanted) => wanted.flatMap(({ id, known }) => [id, String(known?.version ?? 0)]),
    toOutputs: (replies) => asList(replies).map(toFetched),
  });

  async function read(id: string): Promise<WorkspaceRecord | undefined> {
    const known = remembered.get(id);
    const stored = await fetch(keys.shard(id), { id, known });
    if (stored === "unchanged") return known;
    if (stored === "none") {
      remembered.delete(id);
      return undefined;
    }
    // Records are parsed here, not in the batch, so that a damaged record fails only its own read.
    const record = { workspace: fromRecord(stored.text, box), version: stored.version };
    remember(record, stored.text);
    return record;
  }

  async function put(
    workspace: Workspace,
    version: number,
    changes: readonly Change[] = [],
  ): Promise<boolean> {
    remembered.delete(workspace.id);
    const text = toRecord(workspace, box);
    const name = version === 0 ? "create_workspace" : "put_workspace";
    const state = [workspace.id, String(version), text, deliveryMode(workspace), indexEntry(workspace)];
    const args = [...state, ...changes.map(encodeChange)];
    const fresh = asNumber(await functions.call(name, keys.prefixOf(workspace.id), args));
    // Requests for the workspace often follow immediately. These requests use the record that is cached here, so core
    // need not read it from Redis.
    if (fresh > 0) remember({ workspace, version: fresh }, text);
    return fresh > 0;
  }

  /** Reads workspaces. A workspace that does not exist is skipped. */
  async function readAll(ids: readonly string[]): Promise<readonly Workspace[]> {
    const records = await Promise.all(ids.map(read));
    return records.flatMap((record) => (record === undefined ? [] : [record.workspace]));
  }

  return {
    read,
    recall: (id) => remembered.get(id),
    create: (workspace, changes) => put(workspace, 0, changes),
    replace: put,
    async delete(workspace) {
      remembered.delete(workspace.id);
      const args = [workspace.id, indexEntry(workspace)];
      return asNumber(await functions.call("delete_workspace", keys.prefixOf(workspace.id), args)) === 1;
    },
    async list(size, after, only) {
      // A page token is an index entry.
      if (after !== undefined && !ENTRY_FORM.test(after)) return undefined;
      const entries =
        only === undefined ? await index.newest(size + 1, after) : (await readAll([...only])).map(indexEntry);
      const { page, next } = toPage(entries, size, after);
      return { workspaces: await readAll(page.map(idOfEntry)), next };
    },
  };
}
