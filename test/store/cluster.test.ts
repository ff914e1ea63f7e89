import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { StoreUnavailable } from "../../core/ports/store-unavailable";
import { slotOf } from "../../core/store/redis-slot";
import { startTestCluster, type TestCluster } from "../harness/redis-cluster";
import type { RedisNode } from "../harness/redis-node";
import { addWorkspace, openTestStore, publication, type TestStore } from "../harness/store";
import { until } from "../harness/wait";

const PASSWORD = "cluster-password";
const FAILOVER_MS = 60_000;
/** After which a failover that was ordered goes on no more. */
const GIVEN_UP_MS = 7_000;

let cluster: TestCluster;
let store: TestStore;
beforeAll(async () => {
  cluster = await startTestCluster({ password: PASSWORD });
  store = await openTestStore(cluster.url);
}, 120_000);
afterAll(async () => {
  await store.close();
  await cluster.close();
});

/** For what is asked again while the store is away. */
function unlessAway(error: unknown): undefined {
  if (!(error instanceof StoreUnavailable)) throw error;
}

const everyPrefix = (): readonly string[] =>
  Array.from({ length: 16 }, (_, shard) => store.keys.prefix(shard));

/** What a call comes to, in a word. */
const outcomeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "done",
    (error: unknown) => (error instanceof StoreUnavailable ? "unavailable" : String(error)),
  );

test("a key's slot is the one that the cluster says", async () => {
  const [node] = cluster.nodes;
  const texts = fc.oneof(
    fc.string({ minLength: 1, maxLength: 20 }),
    fc
      .array(fc.constantFrom("{", "}", "a", "é", ":"), { minLength: 1, maxLength: 8 })
      .map((parts) => parts.join("")),
  );
  await fc.assert(
    fc.asyncProperty(texts, async (key) => {
      expect(slotOf(key)).toBe(await node?.command("CLUSTER", "KEYSLOT", key));
    }),
    { numRuns: 60 },
  );
});

test("the shards are spread over all masters, and the functions are on each", async () => {
  const masters = new Set(await Promise.all(everyPrefix().map((prefix) => cluster.masterOf(prefix))));
  expect(masters.size).toBe(3);
  for (const master of masters) {
    expect((await master.command("FUNCTION", "LIST")) as unknown[]).toHaveLength(1);
  }
});

test("a command without a key goes to the same master every time", async () => {
  const ids = new Set<string>();
  for (let i = 0; i < 10; i++) ids.add(String(await store.redis.command("", ["CLUSTER", "MYID"])));
  expect([...ids]).toEqual([String(await (await cluster.masterOf("")).command("CLUSTER", "MYID"))]);
});

test("functions that one master has lost are loaded again by whoever calls next", async () => {
  const { workspace } = await addWorkspace(store);
  const master = await cluster.masterOf(store.keys.prefix(store.keys.shard(workspace.id)));
  await master.command("FUNCTION", "FLUSH");
  expect(await store.outboundEvents.publish(publication(workspace.id, 1))).toMatchObject({
    outcome: "published",
  });
});

test("functions that one master has lost are loaded again also while a slot has no master", async () => {
  const { workspace } = await addWorkspace(store);
  const prefix = store.keys.prefix(store.keys.shard(workspace.id));
  // Of no shard, nor where their number is kept.
  const slot = slotOf("a key that nobody uses");
  const owner = await cluster.masterOf("a key that nobody uses");
  const others = cluster.nodes.filter((node) => node !== owner);
  for (const node of [owner, ...others]) await node.command("CLUSTER", "DELSLOTS", slot);
  try {
    await until("the store knows it", () => outcomeOf(store.probe()).then((each) => each === "unavailable"));
    await (await cluster.masterOf(prefix)).command("FUNCTION", "FLUSH");
    expect(await store.outboundEvents.publish(publication(workspace.id, 1))).toMatchObject({
      outcome: "published",
    });
  } finally {
    await owner.command("CLUSTER", "ADDSLOTS", slot);
    await cluster.untilWhole();
  }
});

test("workspaces of all shards are listed together, newest first", async () => {
  const now = Date.now() + 1_000_000;
  const made = await Promise.all(
    Array.from({ length: 40 }, (_, i) => addWorkspace(store, { createdAtMs: now + i })),
  );
  const listed = await store.workspaces.list(40, undefined);
  expect(listed?.workspaces.map(({ id }) => id)).toEqual(
    made.map(({ workspace }) => workspace.id).toReversed(),
  );
});

test("wakes of every shard come, whichever master they were said on", async () => {
  const woken = new Set<number>();
  const stop = store.followLog.onWake((shard) => woken.add(shard));
  await until("a wake of every shard", async () => {
    for (const prefix of everyPrefix())
      await store.redis.command(prefix, ["PUBLISH", `${prefix}:wake:in`, ""]);
    return woken.size === 16;
  });
  stop();
});

/** Whether every server says that a slot is this master's. */
async function knowsOwner(slot: number, owner: RedisNode): Promise<boolean> {
  const views = await Promise.all(cluster.nodes.map((node) => node.command("CLUSTER", "SLOTS")));
  return (views as [number, number, [string, number]][][]).every((ranges) =>
    ranges.some(([from, to, [, port]]) => from <= slot && slot <= to && port === owner.port),
  );
}

test("a slot on its way to another master is out of reach until it is there, and its keys are never told apart", async () => {
  const { workspace } = await addWorkspace(store);
  const prefix = store.keys.prefix(store.keys.shard(workspace.id));
  const slot = slotOf(prefix);
  const from = await cluster.masterOf(prefix);
  const to = [...new Set(await Promise.all(everyPrefix().map((each) => cluster.masterOf(each))))].find(
    (each) => each !== from,
  );
  if (to === undefined) throw new Error("there is but one master");
  const [fromId, toId] = await Promise.all(
    [from, to].map(async (node) => String(await node.command("CLUSTER", "MYID"))),
  );
  const first = await store.outboundEvents.publish(publication(workspace.id, 1));
  await to.command("CLUSTER", "SETSLOT", slot, "IMPORTING", fromId ?? "");
  await from.command("CLUSTER", "SETSLOT", slot, "MIGRATING", toId ?? "");
  expect(await outcomeOf(store.outboundEvents.publish(publication(workspace.id, 2)))).toBe("unavailable");

  const keys = (await from.command("CLUSTER", "GETKEYSINSLOT", slot, 10_000)) as string[];
  await from.command("MIGRATE", "127.0.0.1", to.port, "", 0, 5_000, "AUTH", PASSWORD, "KEYS", ...keys);
  for (const node of [to, from]) await node.command("CLUSTER", "SETSLOT", slot, "NODE", toId ?? "");
  await until("every server has heard of it", () => knowsOwner(slot, to));
  // The store is told MOVED, unless it has looked since, and follows at once.
  const second = await store.outboundEvents.publish(publication(workspace.id, 3));
  expect([first, second]).toEqual([
    expect.objectContaining({ outcome: "published" }),
    expect.objectContaining({ outcome: "published" }),
  ]);
  const sequences = [first, second].map((each) => (each.outcome === "published" ? each.sequence : 0));
  expect(sequences[1]).toBeGreaterThan(sequences[0] ?? 0);
});

test("while a master is gone its shards are out of reach, others go on; its replica takes over and sequences rise", async () => {
  const records = await Promise.all(Array.from({ length: 24 }, () => addWorkspace(store)));
  const ids = records.map(({ workspace }) => workspace.id);
  const prefixOf = (id: string): string => store.keys.prefix(store.keys.shard(id));
  const doomed = await cluster.masterOf(prefixOf(ids[0] ?? ""));
  const owners = await Promise.all(ids.map((id) => cluster.masterOf(prefixOf(id))));
  const publishTo = async (id: string) => {
    const published = await store.outboundEvents.publish(publication(id, randomUUID()));
    return published.outcome === "published" ? published.sequence : 0;
  };
  const before = await Promise.all(ids.map(publishTo));
  await until("the replica has it all", async () => {
    const [replica] = await cluster.replicasOf(doomed);
    return (await replica?.info("slave_repl_offset")) === (await doomed.info("master_repl_offset"));
  });
  await doomed.kill();
  const killedAt = performance.now();
  const outcomes = await Promise.all(ids.map((id) => outcomeOf(publishTo(id))));
  expect(outcomes).toEqual(owners.map((owner) => (owner === doomed ? "unavailable" : "done")));
  await expect(store.probe()).rejects.toBeInstanceOf(StoreUnavailable);

  await until(
    "the store is whole again",
    () =>
      store.probe().then(
        () => true,
        () => false,
      ),
    FAILOVER_MS,
  );
  process.stdout.write(
    `cluster: whole again ${Math.round(performance.now() - killedAt)} ms after a master was killed\n`,
  );
  const after = await Promise.all(
    ids.map((id) => until("it is published", () => publishTo(id).catch(unlessAway), FAILOVER_MS)),
  );
  for (const [i, sequence] of after.entries()) expect(sequence).toBeGreaterThan(before[i] ?? 0);
  await doomed.start();
  await cluster.untilWhole();
}, 120_000);

// contract: envelope-sequence
test("a replica that takes over goes on from a last sequence that is ahead of its clock", async () => {
  const { workspace } = await addWorkspace(store);
  const prefix = store.keys.prefix(store.keys.shard(workspace.id));
  const ahead = (Date.now() + 3_600_000) * 1_000;
  await store.redis.command(prefix, ["HSET", `${prefix}:st:${workspace.id}`, "sequence", String(ahead)]);
  const master = await cluster.masterOf(prefix);
  const [replica] = await cluster.replicasOf(master);
  const isMaster = async (): Promise<boolean> => (await replica?.info("role")) === "master";
  await until(
    "the replica is the master",
    async () => {
      // The cluster gives up what is not through within five seconds.
      await replica?.command("CLUSTER", "FAILOVER").catch(() => undefined);
      return until("it takes over", isMaster, GIVEN_UP_MS).catch(() => false);
    },
    FAILOVER_MS,
  );
  const published = await until(
    "it is published",
    () => store.outboundEvents.publish(publication(workspace.id, 1)).catch(unlessAway),
    FAILOVER_MS,
  );
  expect(published).toMatchObject({ outcome: "published", sequence: ahead + 1 });
}, 120_000);
