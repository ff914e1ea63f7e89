import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { createChange } from "../../core/domain/workspace-changes";
import { createSigningSecret } from "../../core/domain/workspace";
import { asBytes, asList, asNumber } from "../../core/store/redis/reply";
import { createSecretBox } from "../../core/store/secret-box";
import { createWorkspaces } from "../../core/store/workspaces";
import { many } from "../harness/for-all";
import { newWorkspace } from "../harness/new-workspace";
import { SECRETS_KEY } from "../harness/processes";
import { deliveryOf } from "../harness/push-queue";
import { addNeighbour, addWorkspace, inbound, keyOf, testStore, publication, texts } from "../harness/store";

const store = testStore();
const other = testStore(store);

test("every core reads a new workspace exactly as it was created", async () => {
  const workspace = newWorkspace({
    name: "Ünïcode 🎉",
    ownerEmail: "owner@example.com",
    targetUrl: "https://bridge.example.com/",
    secrets: [createSigningSecret("newest", 2), createSigningSecret("retired", 1, 2)],
  });
  expect(await store.workspaces.create(workspace)).toBe(true);
  expect(await other.workspaces.create({ ...workspace, name: "second" })).toBe(false);
  expect(await other.workspaces.read(workspace.id)).toEqual(store.workspaces.recall(workspace.id));
  expect(store.workspaces.recall(workspace.id)?.workspace).toEqual(workspace);
  expect(await other.workspaces.read(randomUUID())).toBeUndefined();
});

test("when several cores change the same version of a workspace, only one change succeeds", async () => {
  const { workspace, version } = await addWorkspace(store);
  const made = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      (i % 2 ? store : other).workspaces.replace({ ...workspace, name: `change ${i}` }, version),
    ),
  );
  expect(made.filter(Boolean)).toHaveLength(1);
  expect(await store.workspaces.read(workspace.id)).toMatchObject({
    workspace: { name: `change ${made.indexOf(true)}` },
  });
  expect(await store.workspaces.replace(workspace, version)).toBe(false);
});

test("core caches workspaces that it reads or writes; a deletion or a failed write removes the workspace from the cache", async () => {
  const { workspace, version } = await addWorkspace(store);
  expect(store.workspaces.recall(workspace.id)).toMatchObject({ version });
  await store.workspaces.replace({ ...workspace, name: "changed" }, version);
  const written = store.workspaces.recall(workspace.id);
  expect(written).toMatchObject({ workspace: { name: "changed" } });
  expect(written).toEqual(await store.workspaces.read(workspace.id));
  await store.workspaces.replace(workspace, version);
  expect(store.workspaces.recall(workspace.id)).toBeUndefined();
  await store.workspaces.read(workspace.id);
  await store.workspaces.delete(workspace);
  expect(store.workspaces.recall(workspace.id)).toBeUndefined();
});

test("the cache of workspaces has a maximum size in bytes, and evicts the least recently used workspace first", async () => {
  const add = () => addWorkspace(store);
  const [first, second, third] = [await add(), await add(), await add()];
  const box = createSecretBox([Buffer.from(SECRETS_KEY, "hex")]);
  const small = createWorkspaces(store.redis, store.functions, store.keys, box, 3_000);
  for (const { workspace } of [first, second, first, third]) await small.read(workspace.id);
  const remembered = [first, second, third].map(({ workspace }) => small.recall(workspace.id) !== undefined);
  expect(remembered).toEqual([true, false, true]);
});

test("a cached workspace is rejected after a failover has undone the latest change to the workspace", async () => {
  const { workspace, version } = await addWorkspace(store);
  const kept = ["ws", "st"].map((kind) => keyOf(store, workspace.id, kind));
  const dumps = await Promise.all(kept.map((key) => store.redis.command(key, ["DUMP", key])));
  await store.workspaces.replace({ ...workspace, name: "taken back" }, version);
  for (const [i, key] of kept.entries()) {
    await store.redis.command(key, ["RESTORE", key, "0", asBytes(dumps[i] ?? null), "REPLACE"]);
  }
  expect(await other.workspaces.replace({ ...workspace, connected: false }, version)).toBe(true);
  const outdated = store.workspaces.recall(workspace.id);
  if (outdated === undefined) throw new Error("the workspace is not cached");
  expect(await store.inboundLog.append(inbound(outdated, "1"))).toEqual({ outcome: "stale" });
});

test("a cached workspace is rejected after another core has changed or deleted it", async () => {
  const outdated = await addWorkspace(store);
  const page = { start: { from: "oldest" }, limit: 1 } as const;
  const changes = [
    () => other.workspaces.replace({ ...outdated.workspace, connected: false }, outdated.version),
    () => other.workspaces.delete(outdated.workspace),
  ];
  for (const change of changes) {
    await change();
    expect(await store.inboundLog.append(inbound(outdated, "1"))).toEqual({ outcome: "stale" });
    expect(await store.heldEvents.page({ record: outdated, page })).toEqual({ outcome: "stale" });
  }
});

test("only after a change does Redis send a cached workspace to core again, and core decrypt its secrets again", async () => {
  const { workspace, version } = await addWorkspace(store);
  const sentFor = async (known: number): Promise<readonly (number | undefined)[]> => {
    const args = [workspace.id, String(known), randomUUID(), "0"];
    const prefix = store.keys.prefix(store.keys.shard(workspace.id));
    const reply = await store.functions.call("get_workspaces", prefix, args);
    return asList(reply).map((each) => asList(each).length);
  };
  expect(await sentFor(version)).toEqual([1, 0]);
  for (const known of [version - 1, 0]) expect(await sentFor(known)).toEqual([2, 0]);
  const first = await other.workspaces.read(workspace.id);
  expect(await other.workspaces.read(workspace.id)).toBe(first);
  await store.workspaces.replace({ ...workspace, targetUrl: "https://bridge.example/" }, version);
  const changed = await other.workspaces.read(workspace.id);
  expect(changed).toMatchObject({ workspace: { targetUrl: "https://bridge.example/" } });
  expect(await other.workspaces.read(workspace.id)).toBe(changed);
  await store.workspaces.delete(workspace);
  expect(await other.workspaces.read(workspace.id)).toBeUndefined();
  expect(other.workspaces.recall(workspace.id)).toBeUndefined();
});

test("if no key can open a workspace's secrets, reading the workspace returns the missing key's fingerprint, and other reads still work", async () => {
  const broken = await addWorkspace(store);
  const sound = await addNeighbour(store, broken);
  const key = keyOf(store, broken.workspace.id, "ws");
  const [record = ""] = await texts(store, "MGET", key);
  await store.redis.command(key, ["SET", key, record.replace(/"sealed":"[0-9a-f]{8}/, '"sealed":"00000000')]);

  // A core that has not cached the workspaces reads both.
  const ids = [broken, sound].map(({ workspace }) => workspace.id);
  const [ofBroken, ofSound] = await Promise.allSettled(ids.map((id) => other.workspaces.read(id)));
  const secrets = [{ missingKey: "00000000", createdAtMs: broken.workspace.secrets[0]?.createdAtMs }];
  expect(ofBroken).toMatchObject({ status: "fulfilled", value: { workspace: { secrets } } });
  expect(ofSound).toMatchObject({ status: "fulfilled", value: sound });
  await store.workspaces.delete(broken.workspace);
});

describe("the list of workspaces", () => {
  test("the list of workspaces is ordered newest first across shards, for every page size", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 25 }),
        fc.integer({ min: 1, max: 9 }),
        async (ages, size) => {
          const made = ages.map((createdAtMs) => newWorkspace({ createdAtMs }));
          await redisFlush();
          await Promise.all(made.map((workspace) => store.workspaces.create(workspace)));
          const listed: string[] = [];
          let after: string | undefined;
          do {
            const page = await other.workspaces.list(size, after);
            if (page === undefined) throw new Error(`${after} was rejected as a page token`);
            expect(page.workspaces.length).toBeLessThanOrEqual(size);
            listed.push(...page.workspaces.map(({ id }) => id));
            after = page.next;
            if (after !== undefined) expect(page.workspaces).toHaveLength(size);
          } while (after !== undefined);
          const newestFirst = made
            .toSorted((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1))
            .toReversed();
          expect(listed).toEqual(newestFirst.map(({ id }) => id));
        },
      ),
      { numRuns: many(30) },
    );
  });

  test("the list of workspaces contains only the requested workspaces if some are requested, newest first, for every page size", async () => {
    await redisFlush();
    const made = await Promise.all(
      [1, 2, 2, 3, 4].map((createdAtMs) => addWorkspace(store, { createdAtMs })),
    );
    const ids = made.map(({ workspace }) => workspace.id);
    const only = new Set([...ids.slice(1), randomUUID()]);
    const all = (await store.workspaces.list(10, undefined))?.workspaces.map(({ id }) => id) ?? [];
    for (const size of [1, 2, 3, 4, 5]) {
      const listed: string[] = [];
      let after: string | undefined;
      do {
        const page = await other.workspaces.list(size, after, only);
        listed.push(...(page?.workspaces.map(({ id }) => id) ?? []));
        after = page?.next;
        if (after !== undefined) expect(page?.workspaces).toHaveLength(size);
      } while (after !== undefined);
      expect(listed).toEqual(all.filter((id) => only.has(id)));
    }
    expect(await store.workspaces.list(1, "x", only)).toBeUndefined();
  });

  const NO_TOKENS = ["", "x", "+", "0000000000001", "0000000000001:x", "(0000000000001:", "0000000000001:é"];
  test.each(NO_TOKENS)("rejects %j as a page token", async (token) => {
    expect(await store.workspaces.list(1, token)).toBeUndefined();
  });

  test("the list of workspaces continues after a workspace that was deleted in the meantime", async () => {
    await redisFlush();
    const made = await Promise.all([1, 2, 3].map((createdAtMs) => addWorkspace(store, { createdAtMs })));
    const page = await store.workspaces.list(1, undefined);
    expect(page?.workspaces).toEqual([made[2]?.workspace]);
    for (const { workspace } of made.slice(1)) await store.workspaces.delete(workspace);
    expect(await store.workspaces.list(1, page?.next)).toEqual({
      workspaces: [made[0]?.workspace],
      next: undefined,
    });
  });

  /** Deletes all data of the store, except the number of shards. */
  async function redisFlush(): Promise<void> {
    for (const key of await texts(store, "KEYS", "cb:{s*")) await store.redis.command(key, ["DEL", key]);
  }
});

// time: controlled
test("deleting a workspace leaves only data that expires within a day", async () => {
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  await store.outboundEvents.publish(publication(id, 1, { idempotencyKey: "k" }));
  await store.heldEvents.page({ record, page: { start: { from: "oldest" }, limit: 1 } });
  await store.inboundLog.append(inbound(record, "1"));
  await store.changeLog.append(id, createChange("alice", "test-event-sent"));
  await store.workspaces.replace(record.workspace, record.version, [createChange("alice", "renamed")]);
  await store.deliveryLog.append(id, deliveryOf({ eventId: "evt_1", eventType: "ping" }, 1, "success"));
  await store.operatorTestLimits.admit(id, undefined);
  const kinds = async (): Promise<readonly string[]> =>
    (await texts(store, "KEYS", `*${id}*`)).map((key) => key.split(":")[2] ?? "").toSorted();
  const kept = ["changes", "held", "key", "log", "sends", "st", "tested", "tests", "ws"];
  expect(await kinds()).toEqual(expect.arrayContaining(kept));

  expect(await other.workspaces.delete(record.workspace)).toBe(true);
  expect(await kinds()).toEqual(["key"]);
  const [key = ""] = await texts(store, "KEYS", `*${id}*`);
  const expiresAtMs = asNumber(await store.redis.command(key, ["PEXPIRETIME", key]));
  expect(expiresAtMs).toBeLessThanOrEqual(Date.now() + 86_400_000);
  expect(expiresAtMs).toBeGreaterThan(0);
  for (const sorted of await texts(store, "EVAL", SORTED_SETS, "0"))
    expect((await texts(store, "ZRANGE", sorted, "0", "-1")).join()).not.toContain(id);
  expect(await store.workspaces.read(id)).toBeUndefined();
  expect(await store.workspaces.delete(record.workspace)).toBe(false);
  // A change after the deletion does not restore the workspace.
  await store.changeLog.append(id, createChange("alice", "test-event-sent"));
  expect(await store.workspaces.replace(record.workspace, record.version)).toBe(false);
  expect(await kinds()).toEqual(["key"]);
});

const SORTED_SETS = `
  local found = {}
  for _, key in ipairs(redis.call('KEYS', 'cb:*')) do
    if redis.call('TYPE', key).ok == 'zset' then found[#found + 1] = key end
  end
  return found`;
