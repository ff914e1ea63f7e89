import { startConsumer, type, type Consumer } from "../harness/consumer";
import { startPair, type TestPair } from "../harness/pair";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { createWorkspace, type TestWorkspace } from "../harness/service";
import { watchLeases, type ShardLeases } from "../harness/shard-leases";
import { until } from "../harness/wait";

const WORKSPACES = 24;
const MOVED_MS = 5_000;
const BUSY_MS = 3_000;
const ACCEPTED_MS = 30_000;
const GROUP = "scale";

let redis: TestRedis;
let pair: TestPair;
let leases: ShardLeases;
let workspaces: readonly TestWorkspace[];
const open = new Map<string, Consumer>();
const seenByAll: Consumer[] = [];
beforeAll(async () => {
  redis = await startTestRedis();
  pair = await startPair(redis.url);
  leases = await watchLeases(redis.url, GROUP);
  workspaces = await Promise.all(Array.from({ length: WORKSPACES }, () => createWorkspace(pair.clients[0])));
}, 60_000);
afterAll(async () => {
  for (const consumer of open.values()) consumer.cancel();
  await leases.close();
  for (const core of pair.cores) core.child.kill("SIGCONT");
  await pair.close();
  await redis.close();
});

/** Opens a consumer at one of the two cores. */
async function join(name: string, core: 0 | 1): Promise<Consumer> {
  const consumer = startConsumer(pair.clients[core].games, { group: GROUP, consumer: name, window: 1_000 });
  open.set(name, consumer);
  seenByAll.push(consumer);
  await consumer.opened();
  consumer.ackAll();
  return consumer;
}

async function expectShared(what: string): Promise<void> {
  const began = performance.now();
  const parts = await leases.untilShared(open.size);
  const ms = performance.now() - began;
  process.stdout.write(
    `${what}: ${[...parts.values()].join(", ")} shards each, after ${Math.round(ms)} ms\n`,
  );
  expect(ms).toBeLessThan(MOVED_MS + BUSY_MS);
}

let texts = 0;
/** Types a few messages in every workspace, each of which is to be accepted at once, and waits until each has come to someone. */
async function typeEverywhere(acceptedMs = 0): Promise<void> {
  const fresh = Array.from({ length: 3 }, () => String(++texts));
  const typeIn = async (workspace: TestWorkspace): Promise<void> => {
    for (const text of fresh) {
      const url = pair.urls[texts % 2 === 0 ? 0 : 1];
      if (acceptedMs > 0) await until("it is accepted", () => type(url, workspace, text), acceptedMs);
      else expect(await type(url, workspace, text)).toBe(true);
    }
  };
  for (let i = 0; i < workspaces.length; i += 8) await Promise.all(workspaces.slice(i, i + 8).map(typeIn));
  await until(
    "each has come",
    () => workspaces.every(({ id }) => fresh.every((text) => comings(id).has(text))),
    30_000,
  );
}

/** The texts of a workspace that have come to anyone. */
function comings(workspaceId: string): ReadonlySet<string> {
  const all = seenByAll.flatMap(({ seen }) => seen);
  return new Set(all.filter((each) => each.workspaceId === workspaceId).map(({ text }) => text));
}

test("a group's shards are spread evenly over its consumers, wherever they are connected", async () => {
  await join("a", 0);
  await expectShared("one consumer");
  await join("b", 1);
  await expectShared("two consumers at two cores");
  await join("c", 0);
  await join("d", 1);
  await expectShared("four consumers at two cores");
  await typeEverywhere();
}, 60_000);

test("when a consumer leaves, the others share its shards at once", async () => {
  await typeEverywhere();
  open.get("b")?.halfClose();
  await open.get("b")?.ended();
  open.delete("b");
  await expectShared("three consumers are left");
  await typeEverywhere();
}, 60_000);

test("when a consumer's connection breaks, the others share its shards at once", async () => {
  open.get("c")?.cancel();
  open.delete("c");
  await expectShared("two consumers are left");
  await typeEverywhere();
}, 60_000);

test("a core that is halted loses its consumers' shards, and wakes to deliver nothing that has moved", async () => {
  // All that comes by now comes to "a" at the first core and "d" at the second.
  const [, halted] = pair.cores;
  const [a, d] = [open.get("a"), open.get("d")];
  if (a === undefined || d === undefined) throw new Error("they are not open");
  halted.child.kill("SIGSTOP");
  open.delete("d");
  await expectShared("a core halted, one consumer is left");
  const before = d.seen.length;
  const fresh = String(++texts);
  // Accepted by the first core alone: an edge leaves one that does not answer only after a while.
  for (const workspace of workspaces) {
    await until("it is accepted", () => type(pair.urls[0], workspace, fresh), ACCEPTED_MS);
  }
  await until("all came to the one", () => workspaces.every(({ id }) => comings(id).has(fresh)), 30_000);
  // By their ids: what an edge had sent the halted core, and sent the other one later, it may take on when it wakes.
  const moved = new Set(a.seen.map(({ id }) => id));
  halted.child.kill("SIGCONT");
  open.set("d", d);
  await expectShared("the core woken");
  // An edge may only now give up a connection to the core that was halted.
  await typeEverywhere(ACCEPTED_MS);
  const late = d.seen.slice(before).filter(({ id }) => moved.has(id));
  expect(late).toEqual([]);
}, 90_000);

test("each consumer saw the events of a workspace in order", () => {
  for (const consumer of seenByAll) {
    for (const { id } of workspaces) {
      const numbers = consumer.seen
        .filter(({ workspaceId, attempt }) => workspaceId === id && attempt === 1)
        .map(({ text }) => Number(text));
      expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    }
  }
});
