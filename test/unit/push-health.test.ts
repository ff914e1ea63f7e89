import * as fc from "fast-check";
import { DROP_REASONS, FAILURES, type LoggedDelivery } from "../../core/domain/delivery";
import { pushHealth } from "../../core/domain/push-health";

const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;

function delivery(fields: Partial<LoggedDelivery> = {}): LoggedDelivery {
  return {
    id: "1-0",
    atMs: NOW - 1_000,
    eventId: "evt_1",
    eventType: "message.create",
    attempt: 1,
    result: "success",
    status: 204,
    latencyMs: 10,
    address: "127.0.0.1",
    ...fields,
  };
}
/** Successes of these latencies, newest first. */
const successes = (...latencies: readonly number[]) => latencies.map((latencyMs) => delivery({ latencyMs }));

test("of nothing there is nothing to tell", () => {
  expect(pushHealth([], NOW)).toEqual({
    lastSuccess: undefined,
    lastFailure: undefined,
    attempts: 0,
    successes: 0,
    latencyMs: { p50: 0, p95: 0, p99: 0 },
  });
});

test.each([
  [[7], 7, 7, 7],
  [[1, 2], 1, 2, 2],
  [[3, 1, 2], 2, 3, 3],
  [Array.from({ length: 20 }, (_, i) => i + 1), 10, 19, 20],
  [Array.from({ length: 100 }, (_, i) => 100 - i), 50, 95, 99],
  [Array.from({ length: 1000 }, (_, i) => i + 1), 500, 950, 990],
] as const)("the percentiles of %j", (latencies, p50, p95, p99) => {
  expect(pushHealth(successes(...latencies), NOW).latencyMs).toEqual({ p50, p95, p99 });
});

test.each(FAILURES)("an attempt that failed by %s counts as one, without its latency", (result) => {
  const failure = delivery({ result, latencyMs: 5_000, status: undefined });
  const health = pushHealth([failure, ...successes(10)], NOW);
  expect(health).toMatchObject({ lastFailure: failure, attempts: 2, successes: 1 });
  expect(health.latencyMs.p99).toBe(10);
});

test.each(DROP_REASONS)("a drop, as it is %s, is no attempt", (result) => {
  const health = pushHealth([delivery({ result, attempt: 0, status: undefined })], NOW);
  expect(health).toMatchObject({ lastFailure: undefined, attempts: 0, successes: 0 });
});

test("polls, from when the workspace polled, do not count", () => {
  const health = pushHealth([delivery({ eventType: "poll", eventId: "", attempt: 0, status: 200 })], NOW);
  expect(health).toMatchObject({ lastSuccess: undefined, attempts: 0, successes: 0 });
});

test("the rate and the latencies are of the last hour, the last success and failure of all that is logged", () => {
  const old = delivery({ atMs: NOW - HOUR - 1, latencyMs: 4_000 });
  const oldFailure = delivery({ atMs: NOW - 2 * HOUR, result: "status", status: 500 });
  expect(pushHealth([old, oldFailure], NOW)).toEqual({
    lastSuccess: old,
    lastFailure: oldFailure,
    attempts: 0,
    successes: 0,
    latencyMs: { p50: 0, p95: 0, p99: 0 },
  });
  expect(pushHealth([delivery({ atMs: NOW - HOUR + 1 }), old], NOW)).toMatchObject({
    attempts: 1,
    successes: 1,
  });
});

test("whatever was logged, percentiles rise and are latencies of successes, and successes are attempts", () => {
  const logged = fc.record({
    result: fc.constantFrom("success" as const, ...FAILURES, ...DROP_REASONS),
    latencyMs: fc.nat(5_000),
    atMs: fc.integer({ min: NOW - 2 * HOUR, max: NOW }),
  });
  fc.assert(
    fc.property(fc.array(logged), (fields) => {
      const deliveries = fields.map(delivery);
      const { attempts, successes: succeeded, latencyMs, lastSuccess } = pushHealth(deliveries, NOW);
      const { p50, p95, p99 } = latencyMs;
      expect(succeeded).toBeLessThanOrEqual(attempts);
      expect([p50, p95, p99]).toEqual([p50, p95, p99].toSorted((a, b) => a - b));
      const known = deliveries.filter(({ result }) => result === "success").map((each) => each.latencyMs);
      if (succeeded > 0) for (const value of [p50, p95, p99]) expect(known).toContain(value);
      expect(lastSuccess).toBe(deliveries.find(({ result }) => result === "success"));
    }),
  );
});
