import * as fc from "fast-check";
import type { InboundDropped } from "../../core/ports/inbound-log";
import type { LogEntry } from "../../core/ports/follow-log";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { asList, asNumber, asText } from "../../core/store/redis/reply";
import { many } from "../harness/for-all";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { until } from "../harness/wait";
import {
  addNeighbour,
  addWorkspace,
  evaluate,
  inbound,
  openTestStore,
  type TestStore,
} from "../harness/store";

const LOG_MAX = 1_000;
/**
 * Maximum number of entries by which a log can exceed its bound. Core checks the bound each time the log has grown by
 * one sixteenth of it.
 */
const OVER = LOG_MAX / 16 + 1;
/** Maximum number of events in one call of the store. */
const BATCH = 128;
const LIMITED = "limited";

let redis: TestRedis;
let store: TestStore;
let dropped: InboundDropped[];
/** Stores that were opened for a single test. */
const opened: TestStore[] = [];
afterEach(async () => {
  for (const small of opened.splice(0)) await small.close();
});
beforeAll(async () => {
  redis = await startTestRedis(["--appendfsync", "no"]);
  store = await open({ inboundLogMax: LOG_MAX });
});
beforeEach(async () => {
  dropped = [];
  await empty();
});
afterAll(async () => {
  await store.close();
  await redis.close();
});

const open = (bounds: { readonly inboundLogMax?: number; readonly inboundLogMaxBytes?: number }) =>
  openTestStore(redis.url, {
    limits: { address: 1_000_000, workspace: 1_000_000 },
    limitedGames: () => [LIMITED],
    onDropped: (each) => dropped.push(each),
    ...bounds,
  });
async function openSmall(inboundLogMaxBytes: number): Promise<TestStore> {
  const small = await open({ inboundLogMaxBytes });
  opened.push(small);
  return small;
}
/** Deletes all data in Redis, and clears the memory of its functions. */
async function empty(): Promise<void> {
  await store.redis.command("", ["FLUSHALL"]);
  await store.redis.command("", ["FUNCTION", "FLUSH"]);
}
const shardOf = ({ workspace }: WorkspaceRecord): number => store.keys.shard(workspace.id);
const logOf = (record: WorkspaceRecord): string => `${store.keys.prefix(shardOf(record))}:in`;
const lengthOf = async (record: WorkspaceRecord) =>
  asNumber(await store.redis.command(logOf(record), ["XLEN", logOf(record)]));
const eventsIn = async (record: WorkspaceRecord) =>
  asList(await store.redis.command(logOf(record), ["XRANGE", logOf(record), "-", "+"])).map((entry) =>
    asText(asList(asList(entry)[1] ?? null)[3] ?? null),
  );
const lost = (reason: "size" | "age"): number =>
  dropped.filter((each) => each.reason === reason).reduce((sum, { count }) => sum + count, 0);

let sent = 0;

/** Appends events one after another. Returns how many of the events were stored. */
async function append(record: WorkspaceRecord, count: number, into = store, text = "event"): Promise<number> {
  let stored = 0;
  for (let i = 0; i < count; i += 10) {
    const batch = Array.from({ length: Math.min(10, count - i) }, () =>
      into.inboundLog.append(inbound(record, String(sent++), text)),
    );
    for (const { outcome } of await Promise.all(batch)) {
      if (outcome === "stored") stored += 1;
      else expect(outcome).toBe("full");
    }
  }
  return stored;
}

async function readNew(record: WorkspaceRecord, group: string, count: number): Promise<readonly LogEntry[]> {
  const member = { group, name: "c", token: `token of ${group}` };
  await store.followLog.take(member, shardOf(record));
  return count === 0 ? [] : ((await store.followLog.readNew(member, shardOf(record), count))?.entries ?? []);
}

/** Reads up to `read` new events for a group, and acks the first `acked` of them. Returns the number of events read. */
async function follow(record: WorkspaceRecord, group: string, read: number, acked: number): Promise<number> {
  const entries = await readNew(record, group, read);
  await store.followLog.ack(
    group,
    shardOf(record),
    entries.slice(0, acked).map(({ entryId }) => entryId),
  );
  return entries.length;
}

const followAll = (record: WorkspaceRecord, group: string) => follow(record, group, 100_000, 100_000);

test("an event leaves the log once every group has acked it, and is kept until then", async () => {
  const record = await addWorkspace(store);
  await store.followLog.open("quick");
  await store.followLog.open("slow");
  await append(record, 100);
  await followAll(record, "quick");
  await follow(record, "slow", 50, 30);
  await store.inboundLog.tidy(shardOf(record));
  expect(await lengthOf(record)).toBe(70);
  await followAll(record, "slow");
  await store.inboundLog.tidy(shardOf(record));
  expect(await lengthOf(record)).toBe(70);
  const member = { group: "slow", name: "c", token: "token of slow" };
  const again = await store.followLog.readAgain(member, shardOf(record), 100, undefined);
  const ids = again?.entries.map(({ entryId }) => entryId) ?? [];
  expect(ids).toHaveLength(20);
  await store.followLog.ack("slow", shardOf(record), ids);
  await store.inboundLog.tidy(shardOf(record));
  expect(await lengthOf(record)).toBe(0);
  expect(dropped).toEqual([]);
  // The groups have kept their positions in the log.
  await append(record, 1);
  expect([await followAll(record, "quick"), await followAll(record, "slow")]).toEqual([1, 1]);
});

test("if there is no group, events stay in the log for a group that opens again later", async () => {
  const record = await addWorkspace(store);
  await append(record, 10);
  await store.inboundLog.tidy(shardOf(record));
  expect(await lengthOf(record)).toBe(10);
});

test("a full log rejects new events, drops none, and accepts events again after a group has acked", async () => {
  const [record, other] = await twoNeighbours();
  await store.followLog.open("g");
  const stored = (await append(record, 480)) + (await append(other, 480)) + (await append(record, 200));
  expect(stored).toBeGreaterThanOrEqual(LOG_MAX);
  expect(stored).toBeLessThanOrEqual(LOG_MAX + OVER);
  expect(await append(other, 10)).toBe(0);
  expect(dropped).toEqual([]);
  expect(await followAll(record, "g")).toBe(stored);
  await store.inboundLog.tidy(shardOf(record));
  await untilOpen(other);
  expect(await append(record, 10)).toBe(10);
});

test("a full log still recognizes repeats of the events that it contains", async () => {
  const record = await addWorkspace(store);
  const timestamp = Math.floor(Date.now() / 1_000);
  const byBytes = (text: string) =>
    ({
      record,
      event: {
        identity: { by: "bytes", timestamp, body: Buffer.from(text) },
        bytes: Buffer.from(text),
      },
    }) as const;
  await store.followLog.open("g");
  expect(await store.inboundLog.append(inbound(record, "first"))).toEqual({ outcome: "stored" });
  expect(await store.inboundLog.append(byBytes("first"))).toEqual({ outcome: "stored" });
  await append(record, 2 * LOG_MAX);
  for (const again of [inbound(record, "first"), byBytes("first")]) {
    expect(await store.inboundLog.append(again)).toEqual({ outcome: "repeated" });
  }
  // The identity of a rejected request is not stored, so the bridge can send the request again.
  for (const fresh of [inbound(record, "fresh"), byBytes("fresh")]) {
    expect(await store.inboundLog.append(fresh)).toEqual({ outcome: "full" });
  }
  await followAll(record, "g");
  await untilOpen(record);
  for (const fresh of [inbound(record, "fresh"), byBytes("fresh")]) {
    expect(await store.inboundLog.append(fresh)).toEqual({ outcome: "stored" });
  }
});

test("at the bound, a log drops events that only some groups have acked, and counts them for the group that lost the most", async () => {
  const record = await addWorkspace(store);
  for (const group of ["quick", "middle", "slow"]) await store.followLog.open(group);
  await append(record, LOG_MAX - 100);
  await followAll(record, "quick");
  await follow(record, "slow", 40, 40);
  await follow(record, "middle", 80, 80);
  expect(await append(record, 400)).toBe(400);
  const removed = LOG_MAX + 300 - (await lengthOf(record));
  expect(removed).toBeGreaterThanOrEqual(300 - OVER);
  expect(lost("size")).toBe(removed - 40);
  expect(dropped[0]?.group).toBe("slow");
});

test("at the bound, the acks of a limited token's group count only if no other group exists", async () => {
  const record = await addWorkspace(store);
  await store.followLog.open(LIMITED);
  await store.followLog.open("game");
  await append(record, LOG_MAX);
  await followAll(record, LIMITED);
  expect(await append(record, 2 * OVER)).toBeLessThanOrEqual(OVER);
  expect(dropped).toEqual([]);
  await empty();
  const alone = await addWorkspace(store);
  await store.followLog.open(LIMITED);
  await store.followLog.open(`${LIMITED}.2`);
  await append(alone, LOG_MAX);
  await followAll(alone, LIMITED);
  expect(await append(alone, 2 * OVER)).toBe(Math.ceil(2 * OVER));
  expect(lost("size")).toBeGreaterThan(0);
});

test("without a group, a log at its bound drops its oldest events, and counts them", async () => {
  const record = await addWorkspace(store);
  expect(await append(record, LOG_MAX + 300)).toBe(LOG_MAX + 300);
  const length = await lengthOf(record);
  expect(length).toBeLessThanOrEqual(LOG_MAX + OVER);
  expect(dropped.every(({ group }) => group === undefined)).toBe(true);
  expect(lost("size")).toBe(LOG_MAX + 300 - length);
});

test("when a log is half full, only the events of a workspace that has filled a quarter of it are rejected", async () => {
  const bytes = 200_000;
  const small = await openSmall(bytes);
  const [record, other] = await twoNeighbours();
  await small.followLog.open("g");
  const stored = await append(record, 400, small, "x".repeat(900));
  // Each event counts as its size plus 100 bytes of overhead.
  expect(stored * 1_000).toBeGreaterThanOrEqual(bytes / 2);
  expect(stored * 1_000).toBeLessThanOrEqual(bytes / 2 + bytes / 8);
  expect(await append(other, 20, small, "x".repeat(900))).toBe(20);
  expect(await append(record, 1, small)).toBe(0);
  await followAll(record, "g");
  await small.inboundLog.tidy(shardOf(record));
  await untilOpen(record, small);
});

test("a log stays near its bound in bytes, whatever the size of its events", async () => {
  const bytes = 300_000;
  const small = await openSmall(bytes);
  for (const size of [10, 1_000, 20_000]) {
    await empty();
    const record = await addWorkspace(store);
    await append(record, (2 * bytes) / (size + 100), small, "x".repeat(size));
    const used = asNumber(
      await store.redis.command(logOf(record), ["MEMORY", "USAGE", logOf(record), "SAMPLES", "0"]),
    );
    // The overhead of small events is overestimated.
    expect(used).toBeGreaterThan(bytes / 4);
    expect(used).toBeLessThan(bytes * 1.3);
  }
});

test("after Redis has restarted, the events in the log still count toward its bound in bytes", async () => {
  const bytes = 200_000;
  const small = await openSmall(bytes);
  const [record, other] = await twoNeighbours();
  await small.followLog.open("g");
  await append(record, 90, small, "x".repeat(900));
  await append(other, 90, small, "x".repeat(900));
  // Loading the library again clears the memory of the functions, as a restart of Redis does.
  await store.redis.command("", ["FUNCTION", "FLUSH"]);
  const stored = await append(other, 100, small, "x".repeat(900));
  expect(stored).toBeGreaterThan(0);
  expect(stored).toBeLessThan(50);
});

// time: controlled
// 50 of the old events share a node of the stream with younger events. One call removes at most 10,000 old events.
test.each([
  [150, 1],
  [10_150, 2],
])(
  "events older than 24 hours are dropped from the log, and each is counted once: %d events in %d calls",
  async (old, calls) => {
    const record = await addWorkspace(store);
    await store.followLog.open("g");
    const script = `
    for i = 1, tonumber(ARGV[1]) do
      redis.call('XADD', KEYS[1], string.format('%.0f-1', tonumber(ARGV[2]) + i), 'w', ARGV[3], 'e', 'event')
    end`;
    const dayAgo = Date.now() - 25 * 60 * 60 * 1_000;
    await evaluate(store, script, [logOf(record)], old, dayAgo, record.workspace.id);
    const large = await open({ inboundLogMax: 20_000 });
    opened.push(large);
    await append(record, 10, large);
    await follow(record, "g", 50, 0);
    for (let call = 1; call <= calls; call++) {
      expect(await lengthOf(record)).toBeGreaterThan(10);
      await store.inboundLog.tidy(shardOf(record));
    }
    expect(await lengthOf(record)).toBe(10);
    await store.inboundLog.tidy(shardOf(record));
    expect(dropped).toMatchObject(Array.from({ length: calls }, () => ({ reason: "age", group: "g" })));
    expect(dropped.reduce((sum, { count }) => sum + count, 0)).toBe(old);
  },
);

type Step = {
  readonly group: number;
  readonly read: number;
  readonly acked: number;
  readonly append: number;
};

test("whatever groups read and ack, an event that no group has acked is never dropped", async () => {
  const groups = ["one", "two", LIMITED];
  const steps = fc.array(
    fc.record<Step>({
      group: fc.nat(groups.length - 1),
      read: fc.nat(300),
      acked: fc.nat(300),
      append: fc.nat(300),
    }),
    { minLength: 5, maxLength: 20 },
  );
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      await empty();
      dropped = [];
      const record = await addWorkspace(store);
      for (const group of groups) await store.followLog.open(group);
      const stored: string[] = [];
      const ackedByGames = new Set<string>();
      for (const { group: place, read, acked, append: count } of plan) {
        const texts = Array.from({ length: count }, () => String(sent++));
        const appended = await Promise.all(
          texts.map((text) => store.inboundLog.append(inbound(record, text, text))),
        );
        stored.push(...texts.filter((_, i) => appended[i]?.outcome === "stored"));
        const group = groups[place] ?? "";
        const entries = await readNew(record, group, read);
        const done = entries.slice(0, acked);
        await store.followLog.ack(
          group,
          shardOf(record),
          done.map(({ entryId }) => entryId),
        );
        if (group !== LIMITED) for (const { event } of done) ackedByGames.add(event.toString());
        await store.inboundLog.tidy(shardOf(record));
        expect(await lengthOf(record)).toBeLessThanOrEqual(LOG_MAX + OVER + BATCH);
      }
      const left = new Set(await eventsIn(record));
      expect(stored.filter((text) => !left.has(text) && !ackedByGames.has(text))).toEqual([]);
    }),
    { numRuns: many(20) },
  );
});

async function twoNeighbours(): Promise<readonly [WorkspaceRecord, WorkspaceRecord]> {
  const record = await addWorkspace(store);
  return [record, await addNeighbour(store, record)];
}

/**
 * Appends events until one is stored. Core measures a full log at most ten times per second, so the first attempts may
 * be rejected.
 */
async function untilOpen(record: WorkspaceRecord, into = store): Promise<void> {
  await until("the log has room", async () => (await append(record, 1, into)) === 1);
}
