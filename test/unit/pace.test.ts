import { setMaxListeners } from "node:events";
import * as fc from "fast-check";
import { createPace } from "../../core/domain/pace";
import { many } from "../harness/for-all";

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

interface Begun {
  readonly task: number;
  readonly amount: number;
  readonly atMs: number;
}

/** A pace that records each task when the task begins. */
function createTestPace(options: Parameters<typeof createPace>[0]) {
  const pace = createPace(options);
  const begun: Begun[] = [];
  let tasks = 0;
  return {
    begun,
    async begin(key: string, amount: number, signal?: AbortSignal): Promise<string> {
      const task = tasks++;
      return pace.begin(key, amount, signal).then(
        () => {
          begun.push({ task, amount, atMs: performance.now() });
          return "begun";
        },
        (error: unknown) => String(error),
      );
    },
  };
}

const PER_SECOND = 100;
const BURST = 20;
/** Maximum milliseconds by which a timer fires late, including the rounding of the delay. */
const TIMER_MS = 2;

const STEPS = fc.array(
  fc.record({ amount: fc.integer({ min: 1, max: 30 }), pauseMs: fc.integer({ min: 0, max: 400 }) }),
  { minLength: 1, maxLength: 40 },
);

test("in any period, a key uses no more than its burst, plus its rate times the period, plus one task", async () => {
  await fc.assert(
    fc.asyncProperty(STEPS, async (steps) => {
      const { begin, begun } = createTestPace({ perSecond: PER_SECOND, burst: BURST });
      for (const { amount, pauseMs } of steps) {
        void begin("a", amount);
        await jest.advanceTimersByTimeAsync(pauseMs);
      }
      await jest.advanceTimersByTimeAsync(60_000);
      expect(begun.map(({ task }) => task)).toEqual(steps.map((_, task) => task));
      for (const [first, from] of begun.entries()) {
        let used = 0;
        for (const { amount, atMs } of begun.slice(first)) {
          expect(used).toBeLessThan(BURST + ((atMs - from.atMs) * PER_SECOND) / 1_000 + 1e-6);
          used += amount;
        }
      }
    }),
    { numRuns: many(100) },
  );
});

test("a task waits no longer than the rate requires", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 40 }),
      async (amounts) => {
        const { begin, begun } = createTestPace({ perSecond: PER_SECOND, burst: BURST });
        const fromMs = performance.now();
        for (const amount of amounts) void begin("a", amount);
        await jest.advanceTimersByTimeAsync(60_000);
        let used = 0;
        for (const { amount, atMs } of begun) {
          const dueMs = Math.max(0, ((used - BURST) / PER_SECOND) * 1_000);
          expect(atMs - fromMs).toBeLessThanOrEqual(dueMs + TIMER_MS);
          used += amount;
        }
        expect(begun).toHaveLength(amounts.length);
      },
    ),
    { numRuns: many(100) },
  );
});

test("the tasks of one key do not delay a task of another key", async () => {
  const { begin, begun } = createTestPace({ perSecond: 1, burst: 1 });
  for (let i = 0; i < 100; i++) void begin("a", 1);
  await expect(begin("b", 1)).resolves.toBe("begun");
  expect(begun).toHaveLength(2);
});

test("a waiting task that is cancelled does not use up the rate, and the next task takes its place", async () => {
  const { begin, begun } = createTestPace({ perSecond: 1, burst: 1 });
  void begin("a", 1);
  const cancel = new AbortController();
  setMaxListeners(0, cancel.signal);
  const cancelled = Array.from({ length: 50 }, () => begin("a", 1, cancel.signal));
  void begin("a", 1);
  cancel.abort("cancelled");
  await expect(Promise.all(cancelled)).resolves.toEqual(cancelled.map(() => "cancelled"));
  await jest.advanceTimersByTimeAsync(1_000 + TIMER_MS);
  expect(begun.map(({ task }) => task)).toEqual([0, 51]);
  expect(jest.getTimerCount()).toBe(0);
});

test("if a key uses part of its rate without waiting, its next tasks are delayed, but the tasks of other keys are not", async () => {
  const pace = createPace({ perSecond: 10, burst: 1 });
  pace.use("a", 21);
  let begun = false;
  void pace.begin("a", 1).then(() => (begun = true));
  await jest.advanceTimersByTimeAsync(1_990);
  expect(begun).toBe(false);
  await pace.begin("b", 1);
  await jest.advanceTimersByTimeAsync(10 + TIMER_MS);
  expect(begun).toBe(true);
});

test("a task that is cancelled before it begins does not use up the rate", async () => {
  const { begin, begun } = createTestPace({ perSecond: 1, burst: 1 });
  await expect(begin("a", 1, AbortSignal.abort("cancelled"))).resolves.toBe("cancelled");
  await expect(begin("a", 1)).resolves.toBe("begun");
  expect(begun).toHaveLength(1);
});
