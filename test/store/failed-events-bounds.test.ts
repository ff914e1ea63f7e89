import * as fc from "fast-check";
import { asList, asNumber } from "../../core/store/redis/reply";
import type { Workspace } from "../../core/domain/workspace";
import { many } from "../harness/for-all";
import { pushQueueOf } from "../harness/push-queue";
import { addNeighbour, keyOf, prefixOf, testClock, testStore, texts } from "../harness/store";

const DAY_US = 24 * 3_600 * 1_000_000;
const MB = 1024 * 1024;

const store = testStore();
const { addPushed, queueOf, fail, failedOf, sendAgain } = pushQueueOf(store);
// No test in this file opens another store, because that store would load the functions again and start their clock.
const clock = testClock(store);

/** Returns the total bytes of the failed events in Redis, and the total that Redis has counted. */
async function keptBytes({ id }: Workspace): Promise<readonly [stored: number, counted: number]> {
  const key = keyOf(store, id, "failedevents");
  const values = asList(await store.redis.command(key, ["HVALS", key])) as readonly Buffer[];
  const counted = await store.redis.command(key, ["HGET", key, "bytes"]);
  const bytes = counted === null ? 0 : asNumber(counted);
  const all = values.reduce((sum, { length }) => sum + length, 0);
  return [all - (counted === null ? 0 : String(bytes).length), bytes];
}

test("each of several events gets its own result; an expired event is still kept, and an event that is named twice is queued once", async () => {
  const workspace = await addPushed();
  await fail(workspace, "short", { expiresAtMs: clock.us / 1_000 + 1_000 });
  await fail(workspace, "long", { expiresAtMs: clock.us / 1_000 + 1_001 });
  await clock.pass(1_000_000);
  expect(await sendAgain(workspace, "none", "long", "short", "long")).toEqual([
    "not-kept",
    "queued",
    "expired",
    "not-kept",
  ]);
  expect(await failedOf(workspace)).toEqual(["evt_short"]);
  expect((await queueOf(workspace)).map(({ eventId }) => eventId)).toEqual(["evt_long"]);
});

test("a workspace keeps its last 100 failed events for 24 hours", async () => {
  const workspace = await addPushed();
  for (let i = 0; i <= 100; i++) {
    await clock.pass(1_000);
    await fail(workspace, String(i));
  }
  const newestFirst = Array.from({ length: 100 }, (_, i) => `evt_${100 - i}`);
  expect(await failedOf(workspace)).toEqual(newestFirst);
  await clock.pass(DAY_US - 99_000 - 1_000);
  expect(await failedOf(workspace)).toEqual(newestFirst);
  await clock.pass(1_000);
  expect(await failedOf(workspace)).toEqual(newestFirst.slice(0, -1));
  expect(await sendAgain(workspace, "1", "2")).toEqual(["not-kept", "queued"]);
  // The next failure also removes the expired events from Redis.
  await fail(workspace, "next");
  expect(await texts(store, "ZRANGE", keyOf(store, workspace.id, "failed"), "0", "1")).toEqual([
    "evt_3",
    "evt_4",
  ]);
  for (const kind of ["failed", "failedevents"]) {
    const ttl = Number(await store.redis.command("", ["PTTL", keyOf(store, workspace.id, kind)]));
    expect(ttl).toBeGreaterThan(0);
    expect(ttl).toBeLessThanOrEqual(DAY_US / 1_000);
  }
});

test("a workspace keeps at most 100 failed events, and 1 MB of them; the oldest are removed first, and an event over 1 MB is not kept", async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 15 });
  await fc.assert(
    fc.asyncProperty(sizes, async (kilobytes) => {
      const workspace = await addPushed();
      let model: { id: string; bytes: number }[] = [];
      for (const [i, size] of kilobytes.entries()) {
        await clock.pass(1_000);
        const envelope = {
          beforeSequence: `{"x":"${"x".repeat(size * 4_096)}","sequence":`,
          afterSequence: "}",
        };
        const { bytes } = await fail(workspace, String(i), { envelope });
        if (bytes > MB) continue;
        model.push({ id: `evt_${i}`, bytes });
        while (model.reduce((sum, each) => sum + each.bytes, 0) > MB) model = model.slice(1);
      }
      expect(await failedOf(workspace)).toEqual(model.map(({ id }) => id).toReversed());
      const sum = model.reduce((all, { bytes }) => all + bytes, 0);
      expect(await keptBytes(workspace)).toEqual([sum, sum]);
    }),
    { numRuns: many(15) },
  );
});

// time: controlled
test("a shard keeps at most 64 MB of failed events; the oldest failures are removed first, even if they belong to other workspaces", async () => {
  const first = await addPushed();
  const record = await store.workspaces.read(first.id);
  if (record === undefined) throw new Error("no such workspace");
  const all = [first];
  const prefix = prefixOf(store, first.id);
  const counted = async () =>
    Number(String((await store.redis.command("", ["GET", `${prefix}:failedbytes`])) ?? 0));
  const envelope = { beforeSequence: `{"x":"${"x".repeat(1_000_000)}","sequence":`, afterSequence: "}" };
  const sizes: number[] = [];
  const failIn = async (workspace: Workspace) => {
    await clock.pass(1_000);
    sizes.push((await fail(workspace, workspace.id, { envelope })).bytes);
  };
  await failIn(first);
  const size = sizes[0] ?? 0;
  const fit = Math.floor((64 * MB) / size);
  while (all.length < fit + 2) {
    const { workspace } = await addNeighbour(store, record, { targetUrl: "https://bridge.example/events" });
    all.push(workspace);
    await failIn(workspace);
  }
  const kept = await Promise.all(all.map(async (workspace) => (await failedOf(workspace)).length));
  expect(kept).toEqual([0, 0, ...Array<number>(fit).fill(1)]);
  expect(await counted()).toBe(fit * size);

  // Failed events are no longer counted after the workspace has sent them again, or another bound has removed them.
  const [, , third, fourth] = all;
  if (third === undefined || fourth === undefined) throw new Error("too few workspaces");
  expect(await sendAgain(third, third.id)).toEqual(["queued"]);
  await fail(fourth, "small");
  await fail(fourth, "large", { envelope });
  expect((await failedOf(fourth)).toSorted()).toEqual(["evt_large", "evt_small"]);
  expect(Math.abs((await counted()) - (fit - 1) * size)).toBeLessThan(1_000);
  await clock.pass(DAY_US);
  await fail(first, "after a day");
  const members = await texts(store, "ZRANGE", `${prefix}:failed`, "0", "-1");
  expect(members.length).toBeLessThan(fit);
  const sum = members.reduce((bytes, member) => bytes + Number(member.split(" ")[0]), 0);
  expect(await counted()).toBe(sum);
});
