import { startCore, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { watchLeases, type ShardLeases } from "../harness/shard-leases";
import { until } from "../harness/wait";

/** How soon shards are to have moved, on a machine that may be busy with other things. */
const MOVED_MS = 5_000;
const BUSY_MS = 3_000;
const STOPPED_MS = 8_000;

let redis: TestRedis;
let leases: ShardLeases;
const cores = new Map<string, TestProcess>();
beforeAll(async () => {
  redis = await startTestRedis();
  leases = await watchLeases(redis.url);
}, 30_000);
afterAll(async () => {
  for (const core of cores.values()) {
    core.child.kill("SIGCONT");
    await core.stop("SIGKILL");
  }
  await leases.close();
  await redis.close();
});

/** Starts a core and answers the token that it comes to hold shards by. */
async function join(): Promise<string> {
  const core = await startCore(redis.url);
  const parts = await leases.untilShared(cores.size + 1);
  const [token] = [...parts.keys()].filter((each) => !cores.has(each));
  if (token === undefined) throw new Error("the new core holds nothing");
  cores.set(token, core);
  return token;
}

/** Waits until the shards are shared as they should be, prints how long that took, and holds it against the bound. */
async function expectMoved(what: string, without?: string): Promise<void> {
  const began = performance.now();
  const size = cores.size - (without === undefined ? 0 : 1);
  await leases.untilShared(size, (token) => token !== without);
  const ms = performance.now() - began;
  process.stdout.write(`${what}: moved after ${Math.round(ms)} ms\n`);
  expect(ms).toBeLessThan(MOVED_MS + BUSY_MS);
}

test("shards are spread evenly over cores that join, one after the other", async () => {
  for (let count = 1; count <= 3; count++) {
    const began = performance.now();
    await join();
    process.stdout.write(
      `core ${count} joins: shared ${Math.round(performance.now() - began)} ms after it was started\n`,
    );
  }
  const parts = await leases.untilShared(3);
  expect([...parts.values()].toSorted((a, b) => a - b)).toEqual([5, 5, 6]);
}, 60_000);

test("when a core is killed, the others have its shards within seconds", async () => {
  const [token = "", core] = [...cores][0] ?? [];
  await core?.stop("SIGKILL");
  await expectMoved("a core killed", token);
  cores.delete(token);
}, 60_000);

test("when a core stops in good order, the others have its shards sooner than a lease runs out", async () => {
  await join();
  const [token = "", core] = [...cores][0] ?? [];
  const asked = performance.now();
  const stopped = core?.stop();
  await until("it holds nothing", async () => !(await leases.holders()).includes(token));
  const droppedMs = performance.now() - asked;
  await expectMoved(`a core stopped (its leases given back after ${Math.round(droppedMs)} ms)`, token);
  expect(await stopped).toBe(0);
  cores.delete(token);
}, 60_000);

test("a core that was stopped in its tracks wakes to let go of what has moved, and then has its part again", async () => {
  const [token = "", core] = [...cores][0] ?? [];
  core?.child.kill("SIGSTOP");
  const stoppedAt = performance.now();
  await expectMoved("a core halted", token);
  await until("it has been away for a while", () => performance.now() - stoppedAt > STOPPED_MS);
  const before = await leases.holders();
  expect(before).not.toContain(token);
  core?.child.kill("SIGCONT");
  // Never more than one holder: what it gets, the other has given back.
  await expectMoved("a core woken");
  expect(await leases.holders()).toContain(token);
}, 60_000);
