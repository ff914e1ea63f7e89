import * as fc from "fast-check";
import type { Append, Appended } from "../../core/ports/inbound-log";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { asList, asNumber, asText } from "../../core/store/reply";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { addWorkspace, keyOf, openTestStore, redisNowUs, texts, type TestStore } from "../harness/store";
import { until } from "../harness/wait";

jest.setTimeout(120_000);

const HALF_DAY = 43_200;
const DAY = 86_400;

let redis: TestRedis;
let store: TestStore;
let other: TestStore;
beforeAll(async () => {
  // Many writes, one after the other: how long the disk takes over each is nothing to what is tested.
  redis = await startTestRedis(["--appendfsync", "no"]);
  store = await openTestStore(redis.url);
  other = await openTestStore(redis.url);
});
afterAll(async () => {
  await store.close();
  await other.close();
  await redis.close();
});

const byId = (record: WorkspaceRecord, id: string, text = "hello"): Append => ({
  record,
  event: { identity: { by: "id", id }, bytes: Buffer.from(text) },
});
const byBytes = (record: WorkspaceRecord, timestamp: number, body: string): Append => ({
  record,
  event: { identity: { by: "bytes", timestamp, body: Buffer.from(body) }, bytes: Buffer.from(body) },
});
const prefixOf = ({ workspace }: WorkspaceRecord): string =>
  store.keys.prefix(store.keys.shard(workspace.id));
const outcomes = (appended: readonly Appended[]): readonly string[] => appended.map(({ outcome }) => outcome);

/** What the log has of a workspace, oldest first. */
async function logged({ workspace }: WorkspaceRecord): Promise<readonly string[]> {
  const log = `${store.keys.prefix(store.keys.shard(workspace.id))}:in`;
  const entries = asList(await store.redis.command(log, ["XRANGE", log, "-", "+"]));
  return entries.flatMap((entry) => {
    const [, fields = []] = asList(entry);
    const [, of, , event] = asList(fields);
    return asText(of) === workspace.id ? [asText(event)] : [];
  });
}

/** Moves the only id that is remembered to where it would be, had it come in `ago` seconds before now. */
async function remembersSince(record: WorkspaceRecord, ago: number): Promise<void> {
  const prefix = prefixOf(record);
  const [key = "", ...more] = await texts(store, "KEYS", `${prefix}:id:*`);
  expect(more).toEqual([]);
  const bucket = key.slice(key.lastIndexOf(":") + 1);
  const [field] = asList(await store.redis.command(key, ["HKEYS", key]));
  if (!Buffer.isBuffer(field)) throw new Error("nothing is remembered");
  const at = Math.floor((await redisNowUs(store)) / 1_000_000) - ago;
  const slot = Math.floor(at / HALF_DAY);
  await store.redis.command(key, ["DEL", key]);
  const moved = `${prefix}:id:${slot}:${bucket}`;
  await store.redis.command(moved, ["HSET", moved, field, String(at - slot * HALF_DAY)]);
}

async function forgetIds(record: WorkspaceRecord): Promise<void> {
  for (const key of await texts(store, "KEYS", `${prefixOf(record)}:id:*`))
    await store.redis.command(key, ["DEL", key]);
}

// contract: repeat-id
test("of requests with one id that arrive together at several cores, one is stored", async () => {
  const record = await addWorkspace(store);
  const sent = Array.from({ length: 120 }, (_, i) => byId(record, `id-${i % 10}`, `event ${i % 10}`));
  const answers = await Promise.all(sent.map((each, i) => (i % 3 ? store : other).inboundLog.append(each)));
  expect(outcomes(answers).filter((outcome) => outcome === "stored")).toHaveLength(10);
  expect(outcomes(answers).filter((outcome) => outcome === "repeated")).toHaveLength(110);
  expect((await logged(record)).toSorted()).toEqual(Array.from({ length: 10 }, (_, i) => `event ${i}`));
});

test("a request id is the workspace's own", async () => {
  const shard = (record: WorkspaceRecord): number => store.keys.shard(record.workspace.id);
  const first = await addWorkspace(store);
  let second = await addWorkspace(store);
  while (shard(second) !== shard(first)) second = await addWorkspace(store);
  expect(await store.inboundLog.append(byId(first, "1"))).toEqual({ outcome: "stored" });
  expect(await store.inboundLog.append(byId(second, "1"))).toEqual({ outcome: "stored" });
});

// contract: repeat-id
test("a request id is remembered for 24 hours, whichever half days they touch", async () => {
  const ages = fc.oneof(
    fc.integer({ min: 0, max: 2 * DAY }),
    fc.constantFrom(HALF_DAY, DAY - 5, DAY + 1, 2 * DAY),
    // The clock has stepped back since.
    fc.integer({ min: -HALF_DAY, max: -1 }),
  );
  await fc.assert(
    fc.asyncProperty(ages, async (ago) => {
      // Within the seconds that the test itself takes, either may be right.
      fc.pre(ago < DAY - 4 || ago > DAY);
      const record = await addWorkspace(store);
      await forgetIds(record);
      expect(await store.inboundLog.append(byId(record, "1"))).toEqual({ outcome: "stored" });
      await remembersSince(record, ago);
      expect(await store.inboundLog.append(byId(record, "1"))).toEqual({
        outcome: ago < DAY ? "repeated" : "stored",
      });
    }),
    { numRuns: 100 },
  );
});

test("a request id is not forgotten before its 24 hours are over, to the second", async () => {
  const record = await addWorkspace(store);
  const second = async (): Promise<number> => Math.floor((await redisNowUs(store)) / 1_000_000);
  // As it was remembered to the second, it may have come at the end of that second.
  await until("it is judged within the second it was moved in", async () => {
    await forgetIds(record);
    await store.inboundLog.append(byId(record, "1"));
    const began = await second();
    await remembersSince(record, DAY);
    const { outcome } = await store.inboundLog.append(byId(record, "1"));
    if ((await second()) !== began) return false;
    expect(outcome).toBe("repeated");
    return true;
  });
});

test("what remembers a request id outlives the 24 hours of every id in it, and then goes", async () => {
  const record = await addWorkspace(store);
  await forgetIds(record);
  const endOfSlot = async (): Promise<number> =>
    (Math.floor((await redisNowUs(store)) / 1_000_000 / HALF_DAY) + 1) * HALF_DAY;
  // One slot, unless a half day ends meanwhile: the id is then of either.
  const earliest = await endOfSlot();
  await store.inboundLog.append(byId(record, "1"));
  const latest = await endOfSlot();
  const [key = ""] = await texts(store, "KEYS", `${prefixOf(record)}:id:*`);
  const ends = asNumber(await store.redis.command(key, ["EXPIRETIME", key]));
  expect(ends).toBeGreaterThanOrEqual(earliest + DAY);
  expect(ends).toBeLessThanOrEqual(latest + DAY + 3_600);
});

test("a refused request's id is not remembered", async () => {
  const { record, rate, judged } = await until("a request within a second of 250 others", async () => {
    const record = await addWorkspace(store);
    const outdated = { ...record, version: record.version + 1 };
    expect(await store.inboundLog.append(byId(outdated, "1"))).toEqual({ outcome: "stale" });
    const rate = keyOf(store, record.workspace.id, "rate");
    const began = performance.now();
    const now = String(await redisNowUs(store));
    await store.redis.command(rate, ["RPUSH", rate, ...Array.from({ length: 250 }, () => now)]);
    const judged = await store.inboundLog.append(byId(record, "1"));
    return performance.now() - began < 900 && { record, rate, judged };
  });
  expect(judged).toEqual({ outcome: "limited", retryAfterSeconds: 1 });
  await store.redis.command(rate, ["DEL", rate]);
  expect(await store.inboundLog.append({ record, event: "fault" })).toEqual({ outcome: "fault" });
  expect(await store.inboundLog.append(byId(record, "1"))).toEqual({ outcome: "stored" });
  expect(await logged(record)).toEqual(["hello"]);
});

// contract: repeat-same-request, repeat-resigned
test("without an id only the very same signed request is ignored: same timestamp and same bytes", async () => {
  const record = await addWorkspace(store);
  const t = Math.floor((await redisNowUs(store)) / 1_000_000);
  const answers = [];
  for (const append of [
    byBytes(record, t, "a"),
    byBytes(record, t, "a"),
    byBytes(record, t + 1, "a"),
    byBytes(record, t, "b"),
    byBytes(await addWorkspace(store), t, "a"),
  ]) {
    answers.push(await store.inboundLog.append(append));
  }
  expect(outcomes(answers)).toEqual(["stored", "repeated", "stored", "stored", "stored"]);
});

test("the very same request is remembered while its timestamp could be accepted, and not for long after", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: -300, max: 300 }), async (off) => {
      const record = await addWorkspace(store);
      for (const key of await texts(store, "KEYS", "*:same:*")) await store.redis.command(key, ["DEL", key]);
      const t = Math.floor((await redisNowUs(store)) / 1_000_000) + off;
      expect(await store.inboundLog.append(byBytes(record, t, "a"))).toEqual({ outcome: "stored" });
      expect(await store.inboundLog.append(byBytes(record, t, "a"))).toEqual({ outcome: "repeated" });
      const [key = ""] = await texts(store, "KEYS", "*:same:*");
      const ends = asNumber(await store.redis.command(key, ["EXPIRETIME", key]));
      expect(ends).toBeGreaterThan(t + 300);
      expect(ends).toBeLessThanOrEqual(t + 1_200);
    }),
    { numRuns: 40 },
  );
});
