import * as fc from "fast-check";
import { DROP_REASONS, FAILURES } from "../../contract/deliveries";
import { type LoggedDelivery } from "../../core/domain/delivery";
import { pushHealth } from "../../core/domain/push-health";

const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;

const delivery = (fields: Partial<LoggedDelivery> = {}): LoggedDelivery => ({
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
});
const upTo = (length: number) => Array.from({ length }, (_, i) => i + 1);
const NONE = { attempts: 0, successes: 0, latencyMs: { p50: 0, p95: 0, p99: 0 } };

test.each([
  [[7], 7, 7, 7],
  [[1, 2], 1, 2, 2],
  [[3, 1, 2], 2, 3, 3],
  [upTo(20), 10, 19, 20],
  [upTo(100).toReversed(), 50, 95, 99],
  [upTo(1000), 500, 950, 990],
])("the latencies %j have the percentiles p50 = %d, p95 = %d and p99 = %d", (latencies, p50, p95, p99) => {
  const deliveries = latencies.map((latencyMs) => delivery({ latencyMs }));
  expect(pushHealth(deliveries, NOW).latencyMs).toEqual({ p50, p95, p99 });
});

test.each(FAILURES)(
  "an attempt that failed with %s counts as an attempt, but its latency does not count",
  (result) => {
    const failure = delivery({ result, latencyMs: 5_000, status: undefined });
    const health = pushHealth([failure, delivery()], NOW);
    expect(health).toMatchObject({ lastFailure: failure, attempts: 2, successes: 1, latencyMs: { p99: 10 } });
  },
);

test.each([
  ...DROP_REASONS.map((result) => ({ result, status: undefined })),
  // This poll was logged before the target URL was set.
  { eventType: "poll", eventId: "", status: 200 },
])("drops and polls are not attempts: %j", (fields) => {
  const health = pushHealth([delivery({ ...fields, attempt: 0 })], NOW);
  expect(health).toMatchObject({ ...NONE, state: "unused", recoveredAtMs: undefined });
  expect([health.lastSuccess, health.lastFailure]).toEqual([undefined, undefined]);
});

test("a drop because of an outage of the service does not degrade the bridge; a drop because of overload does", () => {
  const stateAfter = (result: "outage" | "overloaded") =>
    pushHealth([delivery({ result, attempt: 0 }), delivery()], NOW).state;
  expect([stateAfter("outage"), stateAfter("overloaded")]).toEqual(["healthy", "degraded"]);
});

// time: controlled
test("attempts, successes and latencies cover the last hour; the last success and the last failure can be older", () => {
  const old = delivery({ atMs: NOW - HOUR - 1, latencyMs: 4_000 });
  const oldFailure = delivery({ atMs: NOW - 2 * HOUR, result: "status", status: 500 });
  expect(pushHealth([], NOW)).toMatchObject({ ...NONE, lastSuccess: undefined, lastFailure: undefined });
  expect(pushHealth([old, oldFailure], NOW)).toMatchObject({
    ...NONE,
    lastSuccess: old,
    lastFailure: oldFailure,
  });
  const young = delivery({ atMs: NOW - HOUR + 1 });
  expect(pushHealth([young, old], NOW)).toMatchObject({ attempts: 1, successes: 1 });
});

test("for any log, p50 <= p95 <= p99, all three are latencies of successes, and successes never exceed attempts", () => {
  const logged = fc.record({
    result: fc.constantFrom("success" as const, ...FAILURES, ...DROP_REASONS),
    latencyMs: fc.nat(5_000),
    atMs: fc.integer({ min: NOW - 2 * HOUR, max: NOW }),
  });
  fc.assert(
    fc.property(fc.array(logged), (fields) => {
      const deliveries = fields.map(delivery);
      const { attempts, successes, latencyMs, lastSuccess } = pushHealth(deliveries, NOW);
      const percentiles = [latencyMs.p50, latencyMs.p95, latencyMs.p99];
      expect(successes).toBeLessThanOrEqual(attempts);
      expect(percentiles).toEqual(percentiles.toSorted((a, b) => a - b));
      const succeeded = deliveries.filter(({ result }) => result === "success");
      const known = succeeded.map((each) => each.latencyMs);
      if (successes > 0) expect(known).toEqual(expect.arrayContaining(percentiles));
      expect(lastSuccess).toBe(succeeded[0]);
    }),
  );
});
