import * as fc from "fast-check";
import { asList, asNumber, asText } from "../../core/store/redis/reply";
import { many } from "../harness/for-all";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { addWorkspace, testClock, testStore } from "../harness/store";
import { until } from "../harness/wait";

const SECOND_US = 1_000_000;

const store = testStore();
const other = testStore(store);

const clock = testClock(store);
const { pass } = clock;

let names = 0;
const freshAddress = (): string => `address-${names++}`;
const prefixOf = (address: string): string => store.keys.prefix(store.keys.shard(address));

/** Sends requests of a workspace until one is rejected. Returns the number of requests that passed. */
async function countUntilLimited(record: WorkspaceRecord): Promise<number> {
  const answers = await Promise.all(
    Array.from({ length: 251 }, () => store.inboundLog.append({ record, event: "fault" })),
  );
  return answers.filter(({ outcome }) => outcome === "fault").length;
}

/** Returns the number of bytes that Redis's functions occupy in Lua. */
async function functionsBytes(): Promise<number> {
  const info = asText(await store.redis.command("", ["INFO", "memory"]));
  return Number(/^used_memory_vm_functions:(\d+)/m.exec(info)?.[1]);
}

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
  ["by up to a second, the limit holds until the clock has caught up", SECOND_US, [SECOND_US, SECOND_US]],
  ["by more than a second, the count restarts", SECOND_US + 1, [0, SECOND_US]],
])("when the clock steps back %s", async (_what, us, answers) => {
  const address = freshAddress();
  await judge(address, 1, 1);
  await pass(-us);
  expect(await judge(address, 1, 2)).toEqual(answers);
  await pass(us);
});

// time: controlled
test("a limit holds for the whole second while other addresses send, at whatever time the second begins", async () => {
  const others = Array.from({ length: 20 }, freshAddress);
  for (let turn = 0; turn < 20; turn++) {
    const address = freshAddress();
    expect(await judge(address, 2, 3)).toEqual([0, 0, SECOND_US]);
    for (let left = SECOND_US - 250_000; left > 0; left -= 250_000) {
      await pass(250_000);
      for (const each of others) await judge(each, 2, 1);
      expect(await judge(address, 2, 1)).toEqual([left]);
    }
    await pass(250_000);
    expect(await judge(address, 2, 1)).toEqual([0]);
    await pass(70_000);
  }
});

// time: controlled
test("after the clock stepped back by up to a second, a limit holds until the clock has caught up, while other addresses send", async () => {
  for (const us of [100_000, 500_000, SECOND_US]) {
    const address = freshAddress();
    await pass(2 * SECOND_US);
    await judge(address, 1, 1);
    await pass(-us);
    await judge(freshAddress(), 1, 1);
    for (let passed = 0; passed < us + 900_000; passed += 100_000) {
      await pass(100_000);
      await judge(freshAddress(), 1, 1);
    }
    expect(await judge(address, 1, 1)).toEqual([100_000]);
    await pass(100_000);
    expect(await judge(address, 1, 1)).toEqual([0]);
  }
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
  const passed = records.map((_record, i) => answers.filter((_answer, at) => at % records.length === i));
  const counted = passed.map(
    (outcomes) => outcomes.filter((outcome) => outcome !== "address-limited").length,
  );
  const left = await Promise.all(records.map((each) => countUntilLimited(each)));
  expect(left).toEqual(counted.map((count) => 250 - count));
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
  expect(await countUntilLimited(record)).toBe(250);
});

// time: controlled
test("the limiters of idle addresses are forgotten", async () => {
  const before = await functionsBytes();
  const addresses = Array.from({ length: 20_000 }, freshAddress);
  await store.functions.call("admit", prefixOf("any"), ["500", ...addresses]);
  expect(await functionsBytes()).toBeGreaterThan(before + 1_000_000);
  for (let period = 0; period < 3; period++) {
    await pass(2 * SECOND_US);
    await judge("any", 500, 1);
  }
  await until("Lua has collected the limiters", async () => {
    for (let i = 0; i < 200; i++) await judge("any", 1, 1);
    return (await functionsBytes()) < before + 1_000_000;
  });
});
