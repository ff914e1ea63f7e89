import * as fc from "fast-check";
import { UnloggedWrites } from "../../core/store/unlogged-writes";
import { forAll } from "../harness/for-all";
import { startTestRedis } from "../harness/redis";
import { addWorkspace, openTestStore, stopClock, type TestStore } from "../harness/store";
import { until } from "../harness/wait";

async function readCounts(store: TestStore, id: string) {
  const { buckets, refusals } = await store.refusedRequests.read(id);
  return { counts: buckets.map(({ counts }) => counts), samples: refusals.map(({ atMs }) => atMs) };
}

/** Starts Redis and a core's store, and refuses two requests. Redis logs only the first of them. */
async function refuseTwice() {
  const redis = await startTestRedis(["--appendfsync", "no"]);
  const store = await openTestStore(redis.url);
  await stopClock(store);
  const { id } = (await addWorkspace(store)).workspace;
  for (const atMs of [1_000, 2_000]) {
    store.hourCounts.add(id, "invalid");
    store.refusedRequests.keep(id, "invalid", {
      kind: "invalid",
      atMs,
      method: "POST",
      address: "192.0.2.1",
    });
    await until("the sample is stored", async () => (await readCounts(store, id)).samples[0] === atMs);
  }
  /** Kills and restarts Redis, and returns the counts and samples that Redis still has. */
  async function restart() {
    await redis.restart();
    const next = await openTestStore(redis.url);
    const found = await readCounts(next, id);
    await next.close();
    await redis.close();
    return found;
  }
  return { store, id, restart };
}

// time: controlled
test("after a core has stopped, a crash of Redis loses neither counts nor samples", async () => {
  const { store, id, restart } = await refuseTwice();
  store.hourCounts.add(id, "poll", 7);
  await store.close();
  expect(await restart()).toEqual({ counts: [{ invalid: 2, poll: 7 }], samples: [2_000] });
});

// time: controlled
test("a crash of Redis while a core runs loses the counts and samples after the first write of the bucket", async () => {
  const { store, restart } = await refuseTwice();
  expect(await restart()).toEqual({ counts: [{ invalid: 1 }], samples: [1_000] });
  await store.close();
});

test("counts are logged a minute after their last write, and samples a minute after their first write", () => {
  const waiting = new UnloggedWrites();
  waiting.wrote("logged", { counts: false, samples: false }, 0);
  waiting.wrote("counts", { counts: true, samples: false }, 0);
  waiting.wrote("both", { counts: true, samples: true }, 0);
  waiting.wrote("counts", { counts: false, samples: false }, 30_000);
  waiting.wrote("both", { counts: true, samples: true }, 30_000);
  expect(waiting.take(59_999)).toEqual([]);
  expect(waiting.take(60_000)).toEqual(["both"]);
  expect(waiting.take(89_999)).toEqual([]);
  expect(waiting.take(90_000)).toEqual(["counts"]);
  expect(waiting.takeAll()).toEqual([]);
});

test("however many writes happen, at most one per minute and workspace is logged, and the waiting writes take bounded memory", () => {
  const write = fc.record({
    id: fc.constantFrom("a", "b", "c", "d"),
    counts: fc.boolean(),
    samples: fc.boolean(),
    afterMs: fc.integer({ min: 0, max: 40_000 }),
  });
  forAll(fc.array(write, { maxLength: 60 }), (writes) => {
    const waiting = new UnloggedWrites(2);
    const loggedAt = new Map<string, number>();
    let nowMs = 0;
    for (const { id, counts, samples, afterMs } of writes) {
      nowMs += afterMs;
      for (const due of waiting.take(nowMs)) {
        expect(nowMs - (loggedAt.get(due) ?? -Infinity)).toBeGreaterThanOrEqual(60_000);
        loggedAt.set(due, nowMs);
      }
      waiting.wrote(id, { counts, samples }, nowMs);
    }
    // The counts of at most two workspaces wait to be logged, and the samples of at most two.
    expect(waiting.takeAll().length).toBeLessThanOrEqual(4);
  });
});
