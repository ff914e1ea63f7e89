import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { CONTRACT_LIMITS } from "../../core/domain/bounds";
import type { RedisAdvice } from "../../core/store/redis/advice";
import { StoreUnavailable } from "../../core/ports/store-faults";
import { createRequestCounts } from "../../core/store/request-counts";
import { slotOf } from "../../core/store/redis/slot";
import { many } from "../harness/for-all";
import { deliveryOf } from "../harness/push-queue";
import { startTestCluster, type TestCluster } from "../harness/redis-cluster";
import { killFollowed, type RedisNode } from "../harness/redis-node";
import {
  addNeighbour,
  addWorkspace,
  inbound,
  openTestStore,
  prefixOf,
  publication,
  sequenceOf,
  type TestStore,
} from "../harness/store";
import { until } from "../harness/wait";

const PASSWORD = "cluster-password";

let cluster: TestCluster;
let store: TestStore;
const advice: RedisAdvice[] = [];
beforeAll(async () => {
  cluster = await startTestCluster({ password: PASSWORD, settings: ["appendfsync no"] });
  store = await openTestStore(cluster.url, { onAdvice: (each) => advice.push(each) });
  await cluster.untilWhole();
});
afterAll(async () => {
  await store.close();
  await cluster.close();
});

const everyPrefix = () => Array.from({ length: 16 }, (_, shard) => store.keys.prefix(shard));
const ownersOf = (prefixes: readonly string[]): Promise<readonly RedisNode[]> =>
  Promise.all(prefixes.map((prefix) => cluster.masterOf(prefix)));
const publish = (id: string) => store.outboundEvents.publish(publication(id, 1));

const publishedSequence = async (id: string) => sequenceOf(await publish(id));

/** Returns "done", "unavailable" or, for any other error of a call, the text of the error. */
const outcomeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(() => "done").catch((e) => (e instanceof StoreUnavailable ? "unavailable" : String(e)));

/** Repeats a call while the store is unavailable. */
function onceAvailable<T>(what: string, ask: () => Promise<T>): Promise<T> {
  return until(what, () =>
    ask().catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error;
      return undefined;
    }),
  );
}

// time: ordering
test("the requests of workspaces in all shards are counted and read", async () => {
  const ids = await Promise.all(
    Array.from({ length: 32 }, async () => (await addWorkspace(store)).workspace.id),
  );
  const counts = createRequestCounts(store.functions, store.keys);
  for (const id of ids) {
    counts.hourCounts.add(id, "signature", 2);
    counts.refusedRequests.keep(id, "signature-missing", {
      kind: "signature",
      atMs: 1,
      method: "POST",
      address: "192.0.2.1",
    });
  }
  await counts.close();
  const read = await store.hourCounts.read(ids);
  expect(ids.map((id) => read.get(id)?.map((bucket) => bucket.counts))).toEqual(
    ids.map(() => [{ signature: 2 }]),
  );
  const { refusals } = await store.refusedRequests.read(ids[0] ?? "");
  expect(refusals).toMatchObject([{ kind: "signature", address: "192.0.2.1" }]);
});

test("core computes the same slot for a key as the cluster", async () => {
  const odd = fc.array(fc.constantFrom("{", "}", "a", "é", ":"), { minLength: 1, maxLength: 8 });
  const joined = odd.map((parts) => parts.join(""));
  const key = fc.oneof(fc.string({ minLength: 1, maxLength: 20 }), joined);
  await fc.assert(
    fc.asyncProperty(key, async (key) => {
      expect(slotOf(key)).toBe(await cluster.nodes[0]?.command("CLUSTER", "KEYSLOT", key));
    }),
    { numRuns: many(60) },
  );
});

test("each master has shards and core's Redis functions, and core checks the settings of each master", async () => {
  const masters = [...new Set(await ownersOf(everyPrefix()))];
  expect(masters).toHaveLength(3);
  for (const master of masters) expect(await master.command("FUNCTION", "LIST")).toHaveLength(1);
  expect(new Set(advice.map(({ server }) => server))).toEqual(new Set(masters.map(({ name }) => name)));
});

test("a command without a key always goes to the same master", async () => {
  const ids = new Set<string>();
  for (let i = 0; i < 10; i++) ids.add(String(await store.redis.command("", ["CLUSTER", "MYID"])));
  expect([...ids]).toEqual([String(await (await cluster.masterOf("")).command("CLUSTER", "MYID"))]);
});

/** Returns how often each master has loaded functions, by the name of the master. */
async function loadsOfMasters(): Promise<Record<string, number>> {
  const masters = new Set(await ownersOf(everyPrefix()));
  const loads = [...masters].map(async (master) => {
    const stats = String(await master.command("INFO", "commandstats"));
    return [master.name, Number(/^cmdstat_function\|load:calls=(\d+)/m.exec(stats)?.[1] ?? 0)] as const;
  });
  return Object.fromEntries(await Promise.all(loads));
}

test("functions that one master has lost are loaded again, on this master only, even while a slot has no master", async () => {
  const { workspace } = await addWorkspace(store);
  const master = await cluster.masterOf(prefixOf(store, workspace.id));
  const before = await loadsOfMasters();
  await master.command("FUNCTION", "FLUSH");
  expect(await publish(workspace.id)).toMatchObject({ outcome: "published" });
  // The other masters would lose their rate limits.
  expect(await loadsOfMasters()).toEqual({ ...before, [master.name]: (before[master.name] ?? 0) + 1 });

  // No key of a shard is in this slot, and neither is the key that stores the number of shards.
  const slot = slotOf("a key that nobody uses");
  const owner = await cluster.masterOf("a key that nobody uses");
  const others = cluster.nodes.filter((node) => node !== owner);
  for (const node of [owner, ...others]) await node.command("CLUSTER", "DELSLOTS", slot);
  try {
    await until(
      "the store notices the unserved slot",
      async () => (await outcomeOf(store.probe())) === "unavailable",
    );
    const loads = await loadsOfMasters();
    await master.command("FUNCTION", "FLUSH");
    expect(await publish(workspace.id)).toMatchObject({ outcome: "published" });
    expect(await loadsOfMasters()).toEqual({ ...loads, [master.name]: (loads[master.name] ?? 0) + 1 });
  } finally {
    await owner.command("CLUSTER", "ADDSLOTS", slot);
    await cluster.untilWhole();
  }
});

test("workspaces of all shards are listed together, newest first", async () => {
  const now = Date.now() + 1_000_000;
  const add = (_: unknown, i: number) => addWorkspace(store, { createdAtMs: now + i });
  const made = await Promise.all(Array.from({ length: 40 }, add));
  const listed = await store.workspaces.list(40, undefined);
  expect(listed?.workspaces).toEqual(made.map(({ workspace }) => workspace).toReversed());
});

test("the wakes of every shard arrive, whichever master publishes them", async () => {
  const woken = new Set<number>();
  const stop = store.followLog.onWake((shard) => woken.add(shard));
  await until("a wake of every shard arrives", async () => {
    for (const prefix of everyPrefix())
      await store.redis.command(prefix, ["PUBLISH", `${prefix}:wake:in`, ""]);
    return woken.size === 16;
  });
  stop();
});

test("a slot that migrates to another master is unavailable until the migration is complete", async () => {
  const { workspace } = await addWorkspace(store);
  const prefix = prefixOf(store, workspace.id);
  const slot = slotOf(prefix);
  const from = await cluster.masterOf(prefix);
  const to = (await ownersOf(everyPrefix())).find((each) => each !== from);
  if (to === undefined) throw new Error("there is only one master");
  const idOf = async (node: RedisNode) => String(await node.command("CLUSTER", "MYID"));
  const [fromId, toId] = [await idOf(from), await idOf(to)];
  const first = await publishedSequence(workspace.id);
  await to.command("CLUSTER", "SETSLOT", slot, "IMPORTING", fromId);
  await from.command("CLUSTER", "SETSLOT", slot, "MIGRATING", toId);
  expect(await outcomeOf(publish(workspace.id))).toBe("unavailable");

  const keys = (await from.command("CLUSTER", "GETKEYSINSLOT", slot, 10_000)) as string[];
  await from.command("MIGRATE", "127.0.0.1", to.port, "", 0, 5_000, "AUTH", PASSWORD, "KEYS", ...keys);
  for (const node of [to, from]) await node.command("CLUSTER", "SETSLOT", slot, "NODE", toId);
  await until("every node knows the new master", async () => {
    const views = await Promise.all(cluster.nodes.map((node) => node.command("CLUSTER", "SLOTS")));
    return (views as [number, number, [string, number]][][]).every((ranges) =>
      ranges.some(([start, end, [, port]]) => start <= slot && slot <= end && port === to.port),
    );
  });
  // The store follows a MOVED reply immediately, unless it already knows the new master.
  expect(await publishedSequence(workspace.id)).toBeGreaterThan(first);
});

// time: controlled
// contract: check-2
test("core checks the address limit of posts and polls in a separate call; a post over the limit is not stored", async () => {
  const strict = await openTestStore(cluster.url, { limits: { ...CONTRACT_LIMITS, address: 1 } });
  const record = await addWorkspace(store);
  const page = { start: { from: "oldest" }, limit: 1 } as const;
  // Requests that are made in one turn of the event loop are checked together, however slow the machine is.
  const twice = async (call: (address: string) => Promise<{ readonly outcome: string }>) => {
    const answers = await onceAvailable("both requests are checked", () => {
      const address = randomUUID();
      return Promise.all([call(address), call(address)]);
    });
    return answers.map(({ outcome }) => outcome);
  };
  try {
    const post = (address: string) => strict.inboundLog.append({ ...inbound(record, randomUUID()), address });
    expect(await twice(post)).toEqual(["stored", "address-limited"]);
    const poll = (address: string) => strict.heldEvents.page({ record, address, page });
    expect(await twice(poll)).toEqual(["page", "address-limited"]);
  } finally {
    await strict.close();
  }
});

test("groups of followers are opened, listed and removed, although their keys are on several masters", async () => {
  const { followLog, groups } = store;
  const opener = { tokenName: "game", groupsMax: 2 };
  const open = (group: string) => onceAvailable("the group is opened", () => followLog.open(group, opener));
  expect([await open("one"), await open("two"), await open("three")]).toEqual([
    "opened",
    "opened",
    "token-full",
  ]);
  await followLog.join({ group: "one", name: "c", token: "t" }, true);
  const found = (await groups.refresh()).filter(({ tokenName }) => tokenName === "game");
  expect(Object.fromEntries(found.map(({ group, members }) => [group, members]))).toEqual({ one: 1, two: 0 });
  expect([await groups.remove("one", 0), await groups.remove("two", 0)]).toEqual(["held", "removed"]);
  const names = await Promise.all(
    Array.from({ length: store.keys.shards }, (_, shard) => store.backlog.read(shard)),
  );
  expect(names.flatMap((each) => each.groups.map(({ group }) => group))).not.toContain("two");
});

test("data that no replica has confirmed is not acknowledged, and is not sent in a page, a push or a stream", async () => {
  const careful = await openTestStore(cluster.url, { redisWaitReplicas: 1 });
  const polled = await addWorkspace(store);
  const pushed = await addNeighbour(store, polled, { targetUrl: "https://bridge.example/" });
  const prefix = prefixOf(store, polled.workspace.id);
  const shard = store.keys.shard(polled.workspace.id);
  const member = { group: "careful", name: "c", token: "t" };
  const page = { start: { from: "oldest" }, limit: 10 } as const;
  const readPage = () => careful.heldEvents.page({ record: polled, page });
  const readPushes = async () => {
    await careful.leases.take({ ...member, group: "!cores" }, shard);
    const read = await careful.pushQueue.read(member.token, shard, undefined, {
      events: 10,
      bytes: 1_000_000,
    });
    return read?.pushes;
  };
  const follow = async () => {
    await careful.followLog.take(member, shard);
    return careful.followLog.readNew(member, shard, 10);
  };
  const append = (id: string) => careful.inboundLog.append(inbound(polled, id));
  await onceAvailable("a replica confirms", () => append("1"));
  await careful.followLog.open(member.group);
  const [replica] = await cluster.replicasOf(await cluster.masterOf(prefix));
  replica?.pause();
  try {
    for (const { workspace } of [polled, pushed]) await publish(workspace.id);
    for (const call of [() => append("2"), readPage, readPushes, follow])
      await expect(call()).rejects.toThrow("too few replicas have confirmed the write");
    // Reading a workspace does not wait until a replica has confirmed the write.
    expect(await careful.workspaces.read(polled.workspace.id)).toEqual(polled);
  } finally {
    replica?.resume();
  }
  expect(await onceAvailable("a page is read", readPage)).toMatchObject({ events: [expect.anything()] });
  expect(await onceAvailable("pushes are read", readPushes)).toHaveLength(1);
  // The calls failed, but they had already stored the second event, and had read it for the group. The follower
  // acquires the lease again, because it may have expired while the replica was paused.
  const again = await onceAvailable("the event is read again", async () => {
    await careful.followLog.take(member, shard);
    return careful.followLog.readAgain(member, shard, 10, undefined);
  });
  expect(again?.entries).toHaveLength(1);
  expect(await onceAvailable("the request id is known", () => append("2"))).toEqual({ outcome: "repeated" });
  await careful.close();
});

test("the list of workspaces by state contains the workspaces of all masters", async () => {
  const fields = { targetUrl: "https://bridge.example/" };
  const records = await Promise.all(Array.from({ length: 24 }, () => addWorkspace(store, fields)));
  const ids = records.map(({ workspace }) => workspace.id);
  expect(new Set(await ownersOf(ids.map((id) => prefixOf(store, id)))).size).toBe(3);
  const event = { eventId: "evt_1", eventType: "message.create" };
  await Promise.all(ids.map((id) => store.deliveryLog.append(id, deliveryOf(event, 1, "timeout"))));
  expect(await store.workspaceStates.count()).toMatchObject({ failing: 24 });
  const first = await store.workspaceStates.list(20, undefined, new Set(["failing"]));
  const second = await store.workspaceStates.list(20, first?.next, new Set(["failing"]));
  expect(new Set([...(first?.ids ?? []), ...(second?.ids ?? [])])).toEqual(new Set(ids));
  expect(second?.next).toBeUndefined();
});

// This must be the last test, because it kills a master.
// contract: envelope-sequence
test("while a master is down, only its shards are unavailable; sequences keep rising after its replica takes over", async () => {
  const records = await Promise.all(Array.from({ length: 24 }, () => addWorkspace(store)));
  const ids = records.map(({ workspace }) => workspace.id);
  const owners = await ownersOf(ids.map((id) => prefixOf(store, id)));
  const [first = ""] = ids;
  const [doomed] = owners;
  if (doomed === undefined) throw new Error("there is no master");
  const before = await Promise.all(ids.map(publishedSequence));
  // Sets the last sequence as if the master's clock had been an hour ahead.
  const ahead = (Date.now() + 3_600_000) * 1_000;
  const state = `${prefixOf(store, first)}:st:${first}`;
  await store.redis.command(state, ["HSET", state, "sequence", String(ahead)]);
  const [replica] = await cluster.replicasOf(doomed);
  await cluster.untilWhole();
  await killFollowed(doomed, replica);
  const outcomes = await Promise.all(ids.map((id) => outcomeOf(publish(id))));
  expect(outcomes).toEqual(owners.map((owner) => (owner === doomed ? "unavailable" : "done")));
  await expect(store.probe()).rejects.toBeInstanceOf(StoreUnavailable);

  await replica?.command("CLUSTER", "FAILOVER", "TAKEOVER");
  await until("the whole store is available again", async () => (await outcomeOf(store.probe())) === "done");
  const after = await Promise.all(
    ids.map((id) => onceAvailable("an event is published", () => publishedSequence(id))),
  );
  expect(after[0]).toBe(ahead + 1);
  for (const [i, sequence] of after.entries()) expect(sequence).toBeGreaterThan(before[i] ?? 0);
});
