import * as fc from "fast-check";
import { retryAfterSeconds } from "../../core/store/request-limits";
import { asList, asNumber } from "../../core/store/reply";
import { startTestRedis, type TestRedis } from "../harness/redis";
import {
  addWorkspace,
  evaluate,
  keyOf,
  openTestStore,
  redisNowUs,
  texts,
  type TestStore,
} from "../harness/store";
import { until } from "../harness/wait";

jest.setTimeout(120_000);

const SECOND_US = 1_000_000;

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

let names = 0;
const freshAddress = (): string => `address-${names++}`;
const prefixOf = (address: string): string => store.keys.prefix(store.keys.shard(address));
const addressKey = (address: string): string => `${prefixOf(address)}:ip:${address}`;
const stamps = async (key: string): Promise<readonly number[]> =>
  (await texts(store, "LRANGE", key, "0", "-1")).map(Number);

/** What the list of a limit would hold had `us` gone by; negative when the clock steps back. */
function timePasses(key: string, us: number): Promise<void> {
  const script = `
    local all = redis.call('LRANGE', KEYS[1], 0, -1)
    redis.call('DEL', KEYS[1])
    for _, at in ipairs(all) do
      redis.call('RPUSH', KEYS[1], string.format('%.0f', tonumber(at) - tonumber(ARGV[1])))
    end`;
  return evaluate(store, script, [key], us);
}

/** Lets `count` requests through now, as far as the list knows. */
async function fill(key: string, count: number, aheadUs = 0): Promise<void> {
  await store.redis.command("", ["DEL", key]);
  const at = String((await redisNowUs(store)) + aheadUs);
  await store.redis.command("", ["RPUSH", key, ...Array.from({ length: count }, () => at)]);
}

/** Judges requests of one address that arrive together: 0, or the µs to wait, for each. */
async function judge(address: string, limit: number, requests: number): Promise<readonly number[]> {
  const addresses = Array.from({ length: requests }, () => address);
  const answers = await store.functions.call("admit", prefixOf(address), [String(limit), ...addresses]);
  return asList(answers).map(asNumber);
}

/** When Redis judged them: what was let through is stamped with it, and a refusal says how far the oldest is from it. */
function judgedAt(answers: readonly number[], list: readonly number[]): number {
  const [first = 0] = answers;
  return first === 0 ? (list.at(-1) ?? 0) : (list[0] ?? 0) + SECOND_US - first;
}

test("no second, wherever it begins, lets more than the limit through; refusals do not count and say exactly how long to wait", async () => {
  const arrivals = fc.record({
    passUs: fc.oneof(fc.integer({ min: 0, max: 1_200_000 }), fc.constantFrom(0, 999_000, SECOND_US)),
    requests: fc.integer({ min: 1, max: 10 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 6 }),
      fc.array(arrivals, { minLength: 1, maxLength: 20 }),
      async (limit, batches) => {
        const address = freshAddress();
        const key = addressKey(address);
        let passed: number[] = [];
        for (const { passUs, requests } of batches) {
          await timePasses(key, passUs);
          passed = passed.map((at) => at - passUs);
          const from = await redisNowUs(store);
          const answers = await judge(address, limit, requests);
          const to = await redisNowUs(store);
          const now = judgedAt(answers, await stamps(key));
          expect(now).toBeGreaterThanOrEqual(from);
          expect(now).toBeLessThanOrEqual(to);
          const expected = answers.map(() => {
            const recent = passed.filter((at) => at > now - SECOND_US);
            const [oldest] = recent;
            if (oldest !== undefined && recent.length >= limit) return oldest + SECOND_US - now;
            passed.push(now);
            return 0;
          });
          expect(answers).toEqual(expected);
        }
        for (const [i, at] of passed.entries()) {
          expect(at - (passed[i - limit] ?? -Infinity)).toBeGreaterThanOrEqual(SECOND_US);
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("a sender at the limit is never refused", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 8 }),
      async (limit, seconds) => {
        const address = freshAddress();
        for (let second = 0; second < seconds; second++) {
          expect(await judge(address, limit, limit)).toEqual(Array.from({ length: limit }, () => 0));
          await timePasses(addressKey(address), SECOND_US);
        }
      },
    ),
    { numRuns: 30 },
  );
});

test("a clock that stepped back does not refuse a sender until it has caught up", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 50 }),
      // More than the second below which time stands still, also when the judgement takes a while.
      fc.integer({ min: 5, max: 86_400 }),
      async (limit, seconds) => {
        const address = freshAddress();
        await fill(addressKey(address), limit, seconds * SECOND_US);
        expect(await judge(address, limit, limit + 1)).toEqual([
          ...Array.from({ length: limit }, () => 0),
          expect.any(Number),
        ]);
        expect(await stamps(addressKey(address))).toHaveLength(limit);
      },
    ),
    { numRuns: 20 },
  );
});

test("a clock that steps back by less than a second forgets nothing: the limit holds until it has caught up", async () => {
  const { wait, kept } = await until("a judgement before the clock has caught up", async () => {
    const address = freshAddress();
    const began = performance.now();
    await fill(addressKey(address), 10, SECOND_US / 2);
    const [wait = 0] = await judge(address, 10, 1);
    return performance.now() - began < 400 && { wait, kept: await stamps(addressKey(address)) };
  });
  expect(wait).toBe(SECOND_US);
  expect(kept).toHaveLength(10);
});

// contract: check-2
test("all cores share the 500 a second of a sending address", async () => {
  const outcome = await until("a burst that is over within a second", async () => {
    const address = freshAddress();
    const began = performance.now();
    const burst = Array.from({ length: 700 }, (_, i) =>
      (i % 2 ? store : other).requestLimits.admitAddress(address),
    );
    const answers = await Promise.all(burst);
    return performance.now() - began < 1_000 && { answers, kept: await stamps(addressKey(address)) };
  });
  expect(outcome.answers.filter((retryAfter) => retryAfter === undefined)).toHaveLength(500);
  expect(outcome.answers.filter((retryAfter) => retryAfter === 1)).toHaveLength(200);
  expect(outcome.kept).toHaveLength(500);
});

// contract: check-6, poll-counts-limits
test("posts and polls of a workspace share its 250 a second, on all cores", async () => {
  const record = await addWorkspace(store);
  const key = keyOf(store, record.workspace.id, "rate");
  const outcome = await until("four requests within a second", async () => {
    const began = performance.now();
    await fill(key, 248);
    const answers = [
      await store.inboundLog.append({ record, event: "fault" }),
      await other.heldEvents.page({ record, page: "count" }),
      await other.inboundLog.append({ record, event: "fault" }),
      await store.heldEvents.page({ record, page: { start: { from: "oldest" }, limit: 1 } }),
    ];
    return performance.now() - began < 900 && { answers, kept: await stamps(key) };
  });
  const limited = { outcome: "limited", retryAfterSeconds: 1 };
  expect(outcome.answers).toEqual([{ outcome: "fault" }, { outcome: "counted" }, limited, limited]);
  expect(outcome.kept).toHaveLength(250);
});

test("a request that is judged by an outdated record does not count", async () => {
  const record = await addWorkspace(store);
  const outdated = { ...record, version: record.version + 1 };
  expect(await store.inboundLog.append({ record: outdated, event: "fault" })).toEqual({ outcome: "stale" });
  expect(await store.heldEvents.page({ record: outdated, page: "count" })).toEqual({ outcome: "stale" });
  expect(await stamps(keyOf(store, record.workspace.id, "rate"))).toEqual([]);
});

test("what a limit keeps of an idle sender goes by itself", async () => {
  const address = freshAddress();
  await store.requestLimits.admitAddress(address);
  const leftMs = asNumber(await store.redis.command("", ["PTTL", addressKey(address)]));
  expect(leftMs).toBeGreaterThan(1_000);
  expect(leftMs).toBeLessThanOrEqual(10_000);
});

test.each([
  [1, 1],
  [999_999, 1],
  [1_000_000, 1],
  [1_000_001, 2],
])("a wait of %i µs makes a Retry-After of %i s", (waitUs, seconds) => {
  expect(retryAfterSeconds(waitUs)).toBe(seconds);
});
