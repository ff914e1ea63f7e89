import * as fc from "fast-check";
import { asList, asNumber, asText } from "../../core/store/redis/reply";
import { many } from "../harness/for-all";
import { addWorkspace, keyOf, redisNowUs, testClock, testStore, texts } from "../harness/store";

const SECOND_US = 1_000_000;

const store = testStore();
const other = testStore(store);

const clock = testClock(store);
const { pass } = clock;

let names = 0;
const freshAddress = (): string => `address-${names++}`;
const prefixOf = (address: string): string => store.keys.prefix(store.keys.shard(address));
const stamps = (key: string): Promise<readonly string[]> => texts(store, "LRANGE", key, "0", "-1");

async function fileBytes(): Promise<number> {
  const info = asText(await store.redis.command("", ["INFO", "persistence"]));
  return Number(/^aof_current_size:(\d+)/m.exec(info)?.[1]);
}

/**
 * Checks requests that arrive together from one address. For each request, returns 0 if the request passes, or else
 * the µs to wait.
 */
async function judge(address: string, limit: number, requests: number): Promise<readonly number[]> {
  const addresses = Array<string>(requests).fill(address);
  const answers = await store.functions.call("admit", prefixOf(address), [String(limit), ...addresses]);
  return asList(answers).map(asNumber);
}

// time: controlled
test("no more requests than the limit pass in any second; rejected requests do not count, and get the exact time to wait", async () => {
  const arrivals = fc.record({
    passUs: fc.oneof(fc.integer({ min: 0, max: 1_200_000 }), fc.constantFrom(0, 999_999, SECOND_US)),
    requests: fc.integer({ min: 1, max: 10 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 6 }),
      fc.array(arrivals, { minLength: 1, maxLength: 20 }),
      async (limit, batches) => {
        const address = freshAddress();
        const passed: number[] = [];
        for (const { passUs, requests } of batches) {
          await pass(passUs);
          const answers = await judge(address, limit, requests);
          const expected = answers.map(() => {
            const recent = passed.filter((at) => at > clock.us - SECOND_US);
            const [oldest] = recent;
            if (oldest !== undefined && recent.length >= limit) return oldest + SECOND_US - clock.us;
            passed.push(clock.us);
            return 0;
          });
          expect(answers).toEqual(expected);
        }
      },
    ),
    { numRuns: many(60) },
  );
});

// time: controlled
test.each([
  ["by up to a second, the limit holds until the clock has caught up", SECOND_US, [SECOND_US, SECOND_US], 1],
  ["by more than a second, the count restarts", SECOND_US + 1, [0, SECOND_US], 1],
])("when the clock steps back %s", async (_what, us, answers, kept) => {
  const address = freshAddress();
  await judge(address, 1, 1);
  await pass(-us);
  expect(await judge(address, 1, 2)).toEqual(answers);
  expect(await stamps(`${prefixOf(address)}:ip:${address}`)).toHaveLength(kept);
  await pass(us);
});

// time: controlled
// contract: check-2
test("all cores share the limit of 500 requests per second from one address", async () => {
  const address = freshAddress();
  const admit = (i: number) => (i % 2 ? store : other).requestLimits.admitAddress(address);
  const burst = (count: number) => Promise.all(Array.from({ length: count }, (_, i) => admit(i)));
  const answers = await burst(700);
  expect(answers.filter((retryAfter) => retryAfter === undefined)).toHaveLength(500);
  expect(answers.filter((retryAfter) => retryAfter === 1)).toHaveLength(200);
  await pass(SECOND_US - 1);
  expect(await burst(1)).toEqual([1]);
  await pass(1);
  expect(await burst(1)).toEqual([undefined]);
});

// time: controlled
// contract: check-6, poll-counts-limits
test("posts and polls of a workspace share the limit of 250 requests per second, on all cores", async () => {
  const record = await addWorkspace(store);
  const post = () => other.inboundLog.append({ record, event: "fault" });
  const poll = () => store.heldEvents.page({ record, page: "count" });
  const answers = await Promise.all(Array.from({ length: 125 }, () => [post(), poll()]).flat());
  const passed = [{ outcome: "fault" }, { outcome: "counted" }];
  expect(answers).toEqual(Array.from({ length: 125 }, () => passed).flat());
  const limited = { outcome: "limited", retryAfterSeconds: 1 };
  const page = { start: { from: "oldest" }, limit: 1 } as const;
  const refused = [await post(), await poll(), await other.heldEvents.page({ record, page })];
  expect(refused).toEqual([limited, limited, limited]);
  await pass(SECOND_US);
  expect(await post()).toEqual({ outcome: "fault" });
});

// time: controlled
// contract: check-2
test("posts and polls share the limit of their address; the store checks this limit first, and rejected requests do not count against any workspace", async () => {
  const address = freshAddress();
  const records = await Promise.all(Array.from({ length: 4 }, () => addWorkspace(store)));
  const requests = Array.from({ length: 150 }, () => records).flat();
  const answers = await Promise.all(
    requests.map(async (record, i) => {
      const { outcome } = await (i % 2
        ? store.heldEvents.page({ record, address, page: "count" })
        : other.inboundLog.append({ record, address, event: "fault" }));
      return outcome;
    }),
  );
  expect(answers.filter((outcome) => outcome !== "address-limited")).toHaveLength(500);
  const limited = { outcome: "address-limited", retryAfterSeconds: 1 };
  const [record] = records;
  if (record === undefined) throw new Error("there are no workspaces");
  const outdated = { ...record, version: record.version + 1 };
  expect(await store.inboundLog.append({ record: outdated, address, event: "fault" })).toEqual(limited);
  expect(await store.heldEvents.page({ record: outdated, address, page: "count" })).toEqual(limited);
  const kept = await Promise.all(records.map((each) => stamps(keyOf(store, each.workspace.id, "rate"))));
  expect(kept.flat()).toHaveLength(500);
  await pass(SECOND_US);
  expect(await store.inboundLog.append({ record: outdated, address, event: "fault" })).toEqual({
    outcome: "stale",
  });
});

// time: controlled
test("checks of limits do not write to the append-only file, and successive empty polls write to it only once a minute", async () => {
  const record = await addWorkspace(store);
  const page = { start: { from: "oldest" }, limit: 1 } as const;
  const minute = (us: number): number => Math.floor(us / (60 * SECOND_US));
  const logged: boolean[] = [];
  const expected: boolean[] = [];
  for (let polls = 0; polls < 62; polls++) {
    const before = await fileBytes();
    await store.heldEvents.page({ record, address: freshAddress(), page });
    logged.push((await fileBytes()) > before);
    expected.push(polls === 0 || minute(clock.us) !== minute(clock.us - 2 * SECOND_US));
    await pass(2 * SECOND_US);
  }
  expect(logged).toEqual(expected);
});

test("a request that is checked with an outdated record does not count against the workspace's limit", async () => {
  const record = await addWorkspace(store);
  const outdated = { ...record, version: record.version + 1 };
  expect(await store.inboundLog.append({ record: outdated, event: "fault" })).toEqual({ outcome: "stale" });
  expect(await store.heldEvents.page({ record: outdated, page: "count" })).toEqual({ outcome: "stale" });
  expect(await stamps(keyOf(store, record.workspace.id, "rate"))).toEqual([]);
});

test("the stored request count of an idle address expires", async () => {
  const address = freshAddress();
  const key = `${prefixOf(address)}:ip:${address}`;
  const began = await redisNowUs(store);
  await store.requestLimits.admitAddress(address);
  const expiresUs = asNumber(await store.redis.command("", ["PEXPIRETIME", key])) * 1_000;
  expect(expiresUs).toBeGreaterThan(began + SECOND_US);
  expect(expiresUs).toBeLessThanOrEqual((await redisNowUs(store)) + 10 * SECOND_US);
});
