import { randomBytes } from "node:crypto";
import * as fc from "fast-check";
import type { Append, Appended } from "../../core/ports/inbound-log";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { asList, asNumber, asText } from "../../core/store/redis/reply";
import { many } from "../harness/for-all";
import { addNeighbour, addWorkspace, inbound, prefixOf, testClock, testStore, texts } from "../harness/store";
import { until } from "../harness/wait";

const SECOND_US = 1_000_000;
const HALF_DAY = 43_200;
const DAY = 86_400;

const store = testStore();
const other = testStore(store);

const clock = testClock(store);
/** The start of the next half day, in µs. Keys expire according to the real clock, which is behind this time. */
let slotUs: number;
beforeAll(() => void (slotUs = Math.ceil(clock.us / SECOND_US / HALF_DAY) * HALF_DAY * SECOND_US));
beforeEach(() => clock.set(slotUs));

const byBytes = (record: WorkspaceRecord, timestamp: number, body: string): Append => ({
  record,
  event: { identity: { by: "bytes", timestamp, body: Buffer.from(body) }, bytes: Buffer.from(body) },
});
const outcomes = (appended: readonly Appended[]): readonly string[] => appended.map(({ outcome }) => outcome);
const shardKeys = ({ workspace }: WorkspaceRecord, kind: string): Promise<readonly string[]> =>
  texts(store, "KEYS", `${prefixOf(store, workspace.id)}:${kind}:*`);
const expiresAt = async (key: string) => asNumber(await store.redis.command(key, ["EXPIRETIME", key]));

/** Returns the logged events of a workspace, oldest first. */
async function logged({ workspace }: WorkspaceRecord): Promise<readonly string[]> {
  const log = `${prefixOf(store, workspace.id)}:in`;
  const entries = asList(await store.redis.command(log, ["XRANGE", log, "-", "+"]));
  return entries.flatMap((entry) => {
    const [, of, , event] = asList(asList(entry)[1] ?? null);
    return asText(of) === workspace.id ? [asText(event)] : [];
  });
}

async function forget(record: WorkspaceRecord, kind: "id" | "same"): Promise<void> {
  for (const key of await shardKeys(record, kind)) await store.redis.command(key, ["DEL", key]);
}

// contract: repeat-id
test("when several cores get requests with the same ids at the same time, only one request per id is stored", async () => {
  const record = await addWorkspace(store);
  const sent = Array.from({ length: 120 }, (_, i) => inbound(record, `id-${i % 10}`, `event ${i % 10}`));
  const answers = await Promise.all(sent.map((each, i) => (i % 3 ? store : other).inboundLog.append(each)));
  expect(outcomes(answers).filter((outcome) => outcome === "stored")).toHaveLength(10);
  expect(outcomes(answers).filter((outcome) => outcome === "repeated")).toHaveLength(110);
  expect((await logged(record)).toSorted()).toEqual(Array.from({ length: 10 }, (_, i) => `event ${i}`));
  // A request id identifies a request only within its workspace.
  const neighbour = await addNeighbour(store, record);
  expect(await store.inboundLog.append(inbound(neighbour, "id-1"))).toEqual({ outcome: "stored" });
});

/**
 * Ages of a request id: the last two at which core must recognize a repeat, and the first at which core must not. Each
 * age is combined with an id from the start of a half day, and with one from its end.
 */
const BOUNDARIES: [sinceNoon: number, us: number, ago: number, andUs: number][] = [0, HALF_DAY - 1].flatMap(
  (sinceNoon) => [
    [sinceNoon, 0, DAY - 1, SECOND_US - 1],
    [sinceNoon, 0, DAY, 0],
    [sinceNoon, 0, DAY + 1, 0],
  ],
);

// time: controlled
// contract: repeat-id
test("a repeated request id is recognized for 24 hours, and for at most one second more", async () => {
  const second = fc.integer({ min: 0, max: SECOND_US - 1 });
  const ages = fc.oneof(
    fc.integer({ min: 0, max: 2 * DAY }),
    fc.constantFrom(HALF_DAY, DAY, DAY + 1, 2 * DAY),
    // A negative age: the clock has stepped back between the two requests.
    fc.integer({ min: -HALF_DAY, max: -1 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.nat(HALF_DAY), second, ages, second, async (sinceNoon, us, ago, andUs) => {
      const record = await addWorkspace(store);
      const at = slotUs + sinceNoon * SECOND_US + us;
      await clock.set(at);
      expect(await store.inboundLog.append(inbound(record, "1"))).toEqual({ outcome: "stored" });
      await clock.set(at + ago * SECOND_US + andUs);
      const { outcome } = await store.inboundLog.append(inbound(record, "1"));
      if (ago < DAY || (ago === DAY && andUs === 0)) expect(outcome).toBe("repeated");
      if (ago > DAY) expect(outcome).toBe("stored");
    }),
    { numRuns: many(150), examples: BOUNDARIES },
  );
});

// time: controlled
test("a Redis key holds the request ids of half a day, and expires 24 to 25 hours after the end of that half day", async () => {
  const record = await addWorkspace(store);
  await forget(record, "id");
  await store.inboundLog.append(inbound(record, "1"));
  const [key = ""] = await shardKeys(record, "id");
  const needless = (await expiresAt(key)) - (slotUs / SECOND_US + HALF_DAY + DAY);
  expect(needless).toBeGreaterThanOrEqual(0);
  expect(needless).toBeLessThanOrEqual(3_600);
});

test("the id of a rejected request is not stored", async () => {
  const record = await addWorkspace(store);
  const append = inbound(record, "1");
  const outdated = { ...append, record: { ...record, version: record.version + 1 } };
  expect(await store.inboundLog.append(outdated)).toEqual({ outcome: "stale" });
  for (let i = 0; i < 250; i++) await store.inboundLog.append({ record, event: "fault" });
  expect(await store.inboundLog.append(append)).toEqual({ outcome: "limited", retryAfterSeconds: 1 });
  await clock.pass(SECOND_US);
  expect(await store.inboundLog.append({ record, event: "fault" })).toEqual({ outcome: "fault" });
  expect(await store.inboundLog.append(append)).toEqual({ outcome: "stored" });
  expect(await logged(record)).toEqual(["hello"]);
});

// time: controlled
test("the time of a workspace's first signed request is stored, even if a field of the request is invalid", async () => {
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  const outdated = { ...record, version: record.version + 1 };
  await store.inboundLog.append({ record: outdated, event: "fault" });
  expect(await store.inboundLog.firstAtMs(id)).toBeUndefined();
  await store.inboundLog.append({ record, event: "fault" });
  const first = slotUs / 1_000;
  expect(await store.inboundLog.firstAtMs(id)).toBe(first);
  await clock.pass(60 * SECOND_US);
  await store.inboundLog.append(inbound(record, "1"));
  expect(await store.inboundLog.firstAtMs(id)).toBe(first);
});

// contract: repeat-same-request, repeat-resigned
test("a request without an id is ignored only if it repeats both the timestamp and the bytes of an earlier request", async () => {
  const record = await addWorkspace(store);
  const t = slotUs / SECOND_US;
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

// time: controlled
test("a repeat of a request without an id is recognized while its timestamp can be accepted, and at most until 20 minutes after the timestamp", async () => {
  const now = slotUs / SECOND_US;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: -300, max: 300 }), async (off) => {
      const record = await addWorkspace(store);
      await forget(record, "same");
      expect(await store.inboundLog.append(byBytes(record, now + off, "a"))).toEqual({ outcome: "stored" });
      expect(await store.inboundLog.append(byBytes(record, now + off, "a"))).toEqual({ outcome: "repeated" });
      const [key = ""] = await shardKeys(record, "same");
      expect(await expiresAt(key)).toBeGreaterThan(now + off + 300);
      expect(await expiresAt(key)).toBeLessThanOrEqual(now + off + 1_200);
    }),
    { numRuns: many(40) },
  );
});

test("a stored request id takes less than 60 bytes, even if only 6,000 ids are stored", async () => {
  const record = await addWorkspace(store);
  const { workspace, version } = record;
  const ids = 6_000;
  await forget(record, "id");
  const request = () => [workspace.id, String(version), "", "id", randomBytes(12), "0", "", ""];
  const requests = Array.from({ length: ids }, request);
  const noLimit = String(ids);
  const args = [noLimit, noLimit, "1", "1000000", String(DAY), ...requests.flat()];
  const answers = asList(await store.functions.call("append", prefixOf(store, workspace.id), args));
  expect(answers.slice(0, ids).map(asText)).toEqual(Array(ids).fill("stored"));
  const keys = await shardKeys(record, "id");
  const usages = keys.map((key) => store.redis.command(key, ["MEMORY", "USAGE", key, "SAMPLES", "0"]));
  const bytes = (await Promise.all(usages)).map(asNumber).reduce((sum, usage) => sum + usage, 0);
  const expiries = keys.length * 32;
  expect((bytes + expiries) / ids).toBeGreaterThan(10);
  expect((bytes + expiries) / ids).toBeLessThan(60);
});

test("one message wakes every core for all shards of a call", async () => {
  const records = await Promise.all(Array.from({ length: 8 }, () => addWorkspace(store)));
  const shards = new Set(records.map(({ workspace }) => store.keys.shard(workspace.id)));
  const messages: string[] = [];
  await store.redis.subscribe("cb:{s*}:wake:in", (channel) => void messages.push(channel));
  const woken = [store, other].map(({ followLog }) => {
    const heard = new Set<number>();
    return { heard, stop: followLog.onWake((shard) => heard.add(shard)) };
  });
  await Promise.all(records.map((record) => store.inboundLog.append(inbound(record, "a"))));
  await until("all are woken", async () => messages.length > 0 && woken.every(({ heard }) => heard.size > 0));
  for (const { heard, stop } of woken) {
    expect(heard).toEqual(shards);
    stop();
  }
  expect(messages).toHaveLength(1);
});
