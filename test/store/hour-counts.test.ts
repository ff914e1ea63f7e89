import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { REQUEST_KINDS, type RequestKind } from "../../contract/requests";
import { createRequestCounts } from "../../core/store/request-counts";
import { countsText, PendingCounts, readCounts } from "../../core/store/pending-counts";
import { asNumber, asText } from "../../core/store/redis/reply";
import { forAll } from "../harness/for-all";
import { addWorkspace, keyOf, testClock, testStore, texts } from "../harness/store";
import { until } from "../harness/wait";

const MINUTE_US = 60_000_000;
const BUCKET_US = 5 * MINUTE_US;

const store = testStore();
const clock = testClock(store);

type Add = readonly [workspaceId: string, kind: RequestKind, count?: number];

/** Counts requests as a core does that stops immediately afterwards. */
async function count(...adds: readonly Add[]): Promise<void> {
  const counts = createRequestCounts(store.functions, store.keys);
  for (const [workspaceId, kind, each] of adds) counts.hourCounts.add(workspaceId, kind, each);
  await counts.close();
}
const hoursOf = async (id: string) => (await store.hourCounts.read([id])).get(id);
const refusalsOf = async (id: string) =>
  ((await hoursOf(id)) ?? []).reduce((sum, { counts }) => sum + (counts.signature ?? 0), 0);
const startOfBucket = (us: number): number => us - (us % BUCKET_US);

// time: controlled
test("the requests of a workspace are counted by kind in five-minute buckets of the last hour, for all cores together", async () => {
  const { id } = (await addWorkspace(store)).workspace;
  await clock.set(startOfBucket(clock.us) + BUCKET_US);
  const began = clock.us;
  await Promise.all([count([id, "post", 2], [id, "signature"]), count([id, "post"], [id, "poll", 7])]);
  await clock.pass(BUCKET_US);
  await count([id, "signature", 4]);
  expect(await hoursOf(id)).toEqual([
    { startsAtMs: began / 1_000, counts: { post: 3, signature: 1, poll: 7 } },
    { startsAtMs: (began + BUCKET_US) / 1_000, counts: { signature: 4 } },
  ]);
  await clock.set(began + 12 * BUCKET_US - 1_000);
  expect(await hoursOf(id)).toHaveLength(2);
  await clock.pass(1_000);
  expect(await hoursOf(id)).toHaveLength(1);
  // The new bucket replaces the oldest bucket, because both use the same field.
  await count([id, "push"]);
  expect(await hoursOf(id)).toEqual([
    { startsAtMs: (began + BUCKET_US) / 1_000, counts: { signature: 4 } },
    { startsAtMs: (began + 12 * BUCKET_US) / 1_000, counts: { push: 1 } },
  ]);
});

// time: controlled
test("a workspace has at most twelve buckets of bounded size, and they expire; a workspace that does not exist has none", async () => {
  const { workspace } = await addWorkspace(store);
  const [key, missing] = [keyOf(store, workspace.id, "hour"), randomUUID()];
  for (let bucket = 0; bucket < 30; bucket++) {
    await count(...REQUEST_KINDS.map((kind): Add => [workspace.id, kind, 999_999]), [missing, "signature"]);
    await clock.pass(BUCKET_US);
  }
  const values = await texts(store, "HVALS", key);
  expect(values).toHaveLength(12);
  expect(Math.max(...values.map(({ length }) => length))).toBeLessThan(120);
  const seconds = asNumber(await store.redis.command("", ["TTL", key]));
  expect(seconds).toBeGreaterThan(3_600);
  expect(seconds).toBeLessThanOrEqual(3_900);
  expect(await store.redis.command("", ["EXISTS", keyOf(store, missing, "hour")])).toBe(0);
  await store.workspaces.delete(workspace);
  expect(await store.redis.command("", ["EXISTS", key])).toBe(0);
});

// time: controlled
test("one read returns the counts of a hundred workspaces in all shards, and ignores the kinds of a newer release", async () => {
  const records = await Promise.all(Array.from({ length: 100 }, () => addWorkspace(store)));
  const ids = records.map(({ workspace }) => workspace.id);
  await count(...ids.map((id, i): Add => [id, "poll", i + 1]));
  const [first = ""] = ids;
  const bucket = Math.floor(clock.us / BUCKET_US);
  const field = String(bucket % 12);
  await store.redis.command("", ["HSET", keyOf(store, first, "hour"), field, `${bucket} b1Z9`]);
  const found = await store.hourCounts.read(ids);
  expect(ids.map((id) => found.get(id)?.map(({ counts }) => counts))).toEqual(
    ids.map((_, i) => [{ poll: i + 1 }]),
  );
});

// time: controlled
test("the first write of a bucket and the final counts of the previous bucket are logged, and no other write is", async () => {
  const { id } = (await addWorkspace(store)).workspace;
  await clock.set(startOfBucket(clock.us) + BUCKET_US);
  const writes = async (work: () => Promise<void>): Promise<number> => {
    const before = await replicated();
    await work();
    return (await replicated()) - before;
  };
  // The test does not stop this core, because a core logs all counts when it stops.
  const counts = createRequestCounts(store.functions, store.keys);
  let sent = 0;
  const refuse = async (): Promise<void> => {
    counts.hourCounts.add(id, "signature");
    sent += 1;
    await until("the refusal is stored", async () => (await refusalsOf(id)) === sent);
  };
  const began = await writes(refuse);
  const repeated = await writes(refuse);
  await clock.pass(BUCKET_US);
  const next = await writes(refuse);
  await counts.close();
  expect({ began: began > 0, repeated, next: next > began }).toEqual({
    began: true,
    repeated: 0,
    next: true,
  });
});

/** Returns the number of bytes that Redis has written to its append-only file. */
async function replicated(): Promise<number> {
  const info = asText(await store.redis.command("", ["INFO", "persistence"]));
  return Number(/aof_current_size:(\d+)/.exec(info)?.[1]);
}

const kindCounts = fc.dictionary(fc.constantFrom(...REQUEST_KINDS), fc.integer({ min: 1, max: 1e9 }));

test("counts of any kind are unchanged after they are stored and read", () => {
  forAll(kindCounts, (counts) => expect(readCounts(countsText(counts))).toEqual(counts));
});

// time: controlled
test("refusals are due immediately, and other counts after nine seconds; workspaces beyond the bound take no memory", () => {
  const pending = new PendingCounts({ soon: 2, later: 2, samples: 2 });
  for (const id of ["a", "b", "c"]) {
    pending.add(id, "signature", 1, 0);
    pending.add(id, "push", 1, 0);
  }
  pending.add("a", "push", 2, 8_000);
  const idsOf = (nowMs: number) =>
    pending.take(nowMs).map(({ workspaceId, counts }) => [workspaceId, counts]);
  expect(idsOf(0)).toEqual([
    ["a", { signature: 1 }],
    ["b", { signature: 1 }],
  ]);
  expect(idsOf(8_999)).toEqual([]);
  const due = pending.take(9_000);
  expect(due.map(({ counts }) => counts)).toEqual([{ push: 3 }, { push: 1 }]);
  pending.putBack(due, 9_000);
  expect(pending.takeAll()).toHaveLength(2);
});

// time: controlled
test("the first accepted request after a refusal or a pause is due immediately, but at most once in ten seconds for each kind", () => {
  const pending = new PendingCounts();
  const dueAfter = (nowMs: number, ...kinds: RequestKind[]) => {
    for (const kind of kinds) pending.add("a", kind, 1, nowMs);
    return pending.take(nowMs).map(({ counts }) => counts);
  };
  expect(dueAfter(0, "signature")).toEqual([{ signature: 1 }]);
  expect(dueAfter(1_000, "poll")).toEqual([{ poll: 1 }]);
  expect(dueAfter(2_000, "signature", "poll")).toEqual([{ signature: 1 }]);
  // Polls were accepted while posts were refused.
  expect(dueAfter(3_000, "post")).toEqual([{ poll: 1, post: 1 }]);
  expect(dueAfter(10_999, "poll")).toEqual([]);
  expect(dueAfter(11_000, "poll")).toEqual([{ poll: 2 }]);
  expect(dueAfter(21_000, "poll")).toEqual([]);
  expect(dueAfter(30_000)).toEqual([{ poll: 1 }]);
  expect(dueAfter(620_999, "poll")).toEqual([]);
  expect(dueAfter(630_000)).toEqual([{ poll: 1 }]);
  expect(dueAfter(1_220_999, "poll")).toEqual([{ poll: 1 }]);
});

test("steady traffic causes one write per workspace in nine seconds, even when many workspaces start at once", () => {
  const pending = new PendingCounts();
  let written = 0;
  for (let ms = 0; ms < 900_000; ms += 500) {
    pending.add("a", "poll", 1, ms);
    written += pending.take(ms).length;
  }
  expect(written).toBeLessThanOrEqual(101);
  for (let i = 0; i < 1_000; i++) pending.add(String(i), "poll", 1, 900_000);
  expect(pending.take(900_000)).toHaveLength(256);
  // The polls of workspace "a" are also still waiting.
  expect(pending.take(909_000)).toHaveLength(1_000 - 256 + 1);
});

test("the first accepted request after a refusal is stored before other counts", async () => {
  const { id } = (await addWorkspace(store)).workspace;
  const counts = createRequestCounts(store.functions, store.keys);
  const stored = async (kind: RequestKind) =>
    (await hoursOf(id))?.some((each) => kind in each.counts) ?? false;
  counts.hourCounts.add(id, "signature");
  await until("the refusal is stored", () => stored("signature"));
  const other = (await addWorkspace(store)).workspace.id;
  counts.hourCounts.add(other, "push");
  counts.hourCounts.add(id, "post");
  await until("the accepted post is stored", () => stored("post"));
  expect(await hoursOf(other)).toEqual([]);
  await counts.close();
});
