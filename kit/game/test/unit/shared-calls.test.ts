import * as fc from "fast-check";
import { PUBLISH_BATCH_MAX, PUBLISH_SLICES } from "../../../../core/domain/bounds";
import { OutboundEvent, type PublishResult } from "../../../../proto/gen/chatbridge/v1/game";
import type { PublishCall } from "../../publish-calls";
import { SharedCalls } from "../../shared-calls";

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const eventOf = (idempotencyKey: string): OutboundEvent => OutboundEvent.create({ idempotencyKey });
const callOf = (keys: readonly string[], bytes = 100): PublishCall => ({ events: keys.map(eventOf), bytes });
const keysOf = (events: readonly OutboundEvent[]): readonly string[] =>
  events.map(({ idempotencyKey }) => idempotencyKey);
const resultOf = ({ idempotencyKey }: OutboundEvent): PublishResult => ({
  outcome: {
    $case: "published",
    value: { eventId: idempotencyKey, sequence: 1, messageId: "", expiresAt: undefined, repeated: false },
  },
});
const idsOf = (results: readonly PublishResult[]) =>
  results.map(({ outcome }) => (outcome?.$case === "published" ? outcome.value.eventId : undefined));

/** Calls that take `takesMs`. A shared call fails if `isFailing` returns true for its keys. */
function setUp(takesMs: number, isFailing: (keys: readonly string[]) => boolean = () => false) {
  const shared: (readonly string[])[] = [];
  const alone: (readonly string[])[] = [];
  const startedAt = new Map<string, number>();
  const start = (calls: (readonly string[])[], events: readonly OutboundEvent[]): readonly string[] => {
    const keys = keysOf(events);
    calls.push(keys);
    for (const key of keys) if (!startedAt.has(key)) startedAt.set(key, performance.now());
    return keys;
  };
  const calls = new SharedCalls({
    async share(events) {
      const keys = start(shared, events);
      await new Promise((resolve) => setTimeout(resolve, takesMs));
      if (isFailing(keys)) throw new Error("failed");
      return events.map(resultOf);
    },
    async alone(events) {
      start(alone, events);
      await new Promise((resolve) => setTimeout(resolve, takesMs));
      return events.map(resultOf);
    },
  });
  const publish = (...keys: readonly string[]) => calls.publish(callOf(keys));
  /**
   * The keys of the events of each shared call and each separate call, joined with spaces, in the order of the calls.
   */
  const seen = () => ({
    shared: shared.map((keys) => keys.join(" ")),
    alone: alone.map((keys) => keys.join(" ")),
  });
  return { calls, publish, shared, startedAt, seen };
}

// time: controlled
test("the events of one turn of the event loop are sent at once, in one call, and each caller gets its own results", async () => {
  const { publish, seen } = setUp(3);
  const publishing = [publish("a1", "a2"), publish("b"), publish("c")];
  await jest.advanceTimersByTimeAsync(0);
  expect(seen()).toEqual({ shared: ["a1 a2 b c"], alone: [] });
  await jest.advanceTimersByTimeAsync(3);
  expect((await Promise.all(publishing)).map(idsOf)).toEqual([["a1", "a2"], ["b"], ["c"]]);
});

// time: controlled
test("the next events are sent 5 ms after the last call was sent", async () => {
  const { publish, seen } = setUp(1);
  void publish("a");
  await jest.advanceTimersByTimeAsync(2);
  void publish("b");
  await jest.advanceTimersByTimeAsync(2);
  void publish("c");
  expect(seen()).toEqual({ shared: [], alone: ["a"] });
  await jest.advanceTimersByTimeAsync(1);
  expect(seen()).toEqual({ shared: ["b c"], alone: ["a"] });
});

// time: controlled
test("events wait until the calls in progress have ended, but at most until 20 ms after those calls were sent", async () => {
  const { publish, seen } = setUp(12);
  void publish("a");
  await jest.advanceTimersByTimeAsync(1);
  void publish("b");
  await jest.advanceTimersByTimeAsync(10);
  expect(seen().alone).toEqual(["a"]);
  await jest.advanceTimersByTimeAsync(2);
  expect(seen().alone).toEqual(["a", "b"]);

  const slow = setUp(1_000);
  void slow.publish("a");
  await jest.advanceTimersByTimeAsync(15);
  void slow.publish("b");
  await jest.advanceTimersByTimeAsync(4);
  expect(slow.seen().alone).toEqual(["a"]);
  await jest.advanceTimersByTimeAsync(1);
  expect(slow.seen().alone).toEqual(["a", "b"]);
});

// time: controlled
test("after a failed shared call, the events of each caller are published in a separate call, and no call is shared for 10 seconds", async () => {
  const { publish, seen } = setUp(1, (keys) => keys.includes("bad"));
  const publishing = [publish("a"), publish("b1", "bad")];
  await jest.advanceTimersByTimeAsync(10);
  expect((await Promise.all(publishing)).map(idsOf)).toEqual([["a"], ["b1", "bad"]]);
  expect(seen()).toEqual({ shared: ["a b1 bad"], alone: ["a", "b1 bad"] });
  await jest.advanceTimersByTimeAsync(9_900);
  void publish("c");
  void publish("d");
  await jest.advanceTimersByTimeAsync(100);
  expect(seen()).toEqual({ shared: ["a b1 bad"], alone: ["a", "b1 bad", "c", "d"] });
  void publish("e");
  void publish("f");
  await jest.advanceTimersByTimeAsync(100);
  expect(seen().shared).toEqual(["a b1 bad", "e f"]);
});

// time: controlled
test("a call of more than one slice is not shared, and nothing waits for this call", async () => {
  const { calls, publish, seen } = setUp(1_000);
  void calls.publish(callOf(["large"], PUBLISH_SLICES.bytes + 1));
  void publish("a");
  void publish("b");
  await jest.advanceTimersByTimeAsync(0);
  expect(seen()).toEqual({ shared: ["a b"], alone: ["large"] });
});

// time: controlled
test("with random callers, each caller gets its own results, no call exceeds its bounds, and no event is sent late", async () => {
  const caller = fc.record({
    afterMs: fc.integer({ min: 0, max: 30 }),
    events: fc.integer({ min: 1, max: PUBLISH_BATCH_MAX }),
    bytes: fc.integer({ min: 1, max: PUBLISH_SLICES.bytes + 1 }),
    isFailing: fc.boolean(),
  });
  const property = fc.asyncProperty(
    fc.array(caller, { maxLength: 30 }),
    fc.nat({ max: 40 }),
    fc.boolean(),
    async (callers, takesMs, someFail) => {
      const callerOf = (key: string) => callers[Number(key.split("/")[0])];
      const bytesOf = (keys: readonly string[]): number =>
        [...new Set(keys.map(callerOf))].reduce((sum, each) => sum + (each?.bytes ?? NaN), 0);
      const { calls, shared, startedAt } = setUp(
        takesMs,
        (keys) => someFail && keys.some((key) => callerOf(key)?.isFailing),
      );
      const published: Promise<readonly PublishResult[]>[] = [];
      const wanted: (readonly string[])[] = [];
      const publishedAt: number[] = [];
      for (const [index, { afterMs, events, bytes }] of callers.entries()) {
        await jest.advanceTimersByTimeAsync(afterMs);
        const keys = Array.from({ length: events }, (_, i) => `${index}/${i}`);
        wanted.push(keys);
        publishedAt.push(performance.now());
        published.push(calls.publish(callOf(keys, bytes)));
      }
      await jest.advanceTimersByTimeAsync(1_000);
      expect(jest.getTimerCount()).toBe(0);
      expect((await Promise.all(published)).map(idsOf)).toEqual(wanted);
      for (const keys of shared) {
        expect(keys.length).toBeLessThanOrEqual(PUBLISH_BATCH_MAX);
        expect(bytesOf(keys)).toBeLessThanOrEqual(PUBLISH_SLICES.bytes);
      }
      for (const [index, atMs] of publishedAt.entries())
        expect((startedAt.get(`${index}/0`) ?? Infinity) - atMs).toBeLessThanOrEqual(21);
    },
  );
  await fc.assert(property);
});
