import * as fc from "fast-check";
import { PUBLISH_BATCH_MAX, PUBLISH_SLICES } from "../../../../core/domain/bounds";
import { OutboundEvent, type PublishResult } from "../../../../proto/gen/chatbridge/v1/game";
import type { PublishCall } from "../../publish-calls";
import { SharedCalls, type FailedCall } from "../../shared-calls";

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

/** Calls that take `takesMs`, and fail if `isFailing` returns true for their keys. */
function setUp(takesMs: number, isFailing: (keys: readonly string[]) => boolean = () => false) {
  const shared: (readonly string[])[] = [];
  const alone: (readonly string[])[] = [];
  const failures: (FailedCall | undefined)[] = [];
  const later = <T>(result: () => T): Promise<T> =>
    new Promise((resolve, reject) =>
      setTimeout(() => {
        try {
          resolve(result());
        } catch (error) {
          reject(error);
        }
      }, takesMs),
    );
  const calls = new SharedCalls({
    once(events) {
      shared.push(keysOf(events));
      return later(() => {
        if (isFailing(keysOf(events))) throw new Error("failed");
        return events.map(resultOf);
      });
    },
    alone(events, failed) {
      alone.push(keysOf(events));
      failures.push(failed);
      return later(() => events.map(resultOf));
    },
  });
  return { calls, shared, alone, failures };
}

// time: controlled
test("the events of one turn of the event loop leave at once, in one call, and each caller gets its own results", async () => {
  const { calls, shared } = setUp(3);
  const publishing = [["a1", "a2"], ["b"], ["c"]].map((keys) => calls.publish(callOf(keys)));
  await jest.advanceTimersByTimeAsync(0);
  expect(shared).toEqual([["a1", "a2", "b", "c"]]);
  await jest.advanceTimersByTimeAsync(3);
  expect((await Promise.all(publishing)).map(idsOf)).toEqual([["a1", "a2"], ["b"], ["c"]]);
});

// time: controlled
test("a call leaves 5 ms after the call before it", async () => {
  const { calls, shared } = setUp(1);
  void calls.publish(callOf(["a"]));
  await jest.advanceTimersByTimeAsync(2);
  void calls.publish(callOf(["b"]));
  await jest.advanceTimersByTimeAsync(2);
  void calls.publish(callOf(["c"]));
  expect(shared).toEqual([["a"]]);
  await jest.advanceTimersByTimeAsync(1);
  expect(shared).toEqual([["a"], ["b", "c"]]);
});

// time: controlled
test("events wait for a call in progress, but at most 20 ms", async () => {
  const { calls, shared } = setUp(12);
  void calls.publish(callOf(["a"]));
  await jest.advanceTimersByTimeAsync(1);
  void calls.publish(callOf(["b"]));
  await jest.advanceTimersByTimeAsync(10);
  expect(shared).toEqual([["a"]]);
  await jest.advanceTimersByTimeAsync(2);
  expect(shared).toEqual([["a"], ["b"]]);

  const slow = setUp(1_000);
  void slow.calls.publish(callOf(["a"]));
  await jest.advanceTimersByTimeAsync(1);
  void slow.calls.publish(callOf(["b"]));
  await jest.advanceTimersByTimeAsync(19);
  expect(slow.shared).toEqual([["a"]]);
  await jest.advanceTimersByTimeAsync(1);
  expect(slow.shared).toEqual([["a"], ["b"]]);
});

// time: controlled
test("after a failed shared call, the events of each caller get a call of their own", async () => {
  const { calls, alone, failures } = setUp(1, () => true);
  const publishing = [["a"], ["b1", "b2"]].map((keys) => calls.publish(callOf(keys)));
  await jest.advanceTimersByTimeAsync(10);
  expect((await Promise.all(publishing)).map(idsOf)).toEqual([["a"], ["b1", "b2"]]);
  expect(alone).toEqual([["a"], ["b1", "b2"]]);
  const shared = { error: new Error("failed"), isShared: true };
  expect(failures).toEqual([shared, shared]);
  void calls.publish(callOf(["c"]));
  await jest.advanceTimersByTimeAsync(10);
  expect(failures[2]).toEqual({ error: new Error("failed"), isShared: false });
});

// time: controlled
test("a call of more than one slice is not shared, and nothing waits for this call", async () => {
  const { calls, shared, alone } = setUp(1_000);
  void calls.publish(callOf(["large"], PUBLISH_SLICES.bytes + 1));
  void calls.publish(callOf(["small"]));
  await jest.advanceTimersByTimeAsync(0);
  expect(alone).toEqual([["large"]]);
  expect(shared).toEqual([["small"]]);
});

// time: controlled
test("with any calls, each caller gets its own results within the bounds of a call, and nothing is left waiting", async () => {
  const caller = fc.record({
    afterMs: fc.integer({ min: 0, max: 30 }),
    events: fc.integer({ min: 1, max: PUBLISH_BATCH_MAX }),
    bytes: fc.integer({ min: 1, max: PUBLISH_SLICES.bytes + 1 }),
    isFailing: fc.boolean(),
  });
  const property = fc.asyncProperty(
    fc.array(caller, { maxLength: 30 }),
    fc.nat({ max: 40 }),
    async (callers, takesMs) => {
      const bytesOf = (keys: readonly string[]): number =>
        [...new Set(keys.map((key) => Number(key.split("/")[0])))].reduce(
          (sum, index) => sum + (callers[index]?.bytes ?? NaN),
          0,
        );
      const { calls, shared } = setUp(takesMs, (keys) =>
        keys.some((key) => callers[Number(key.split("/")[0])]?.isFailing),
      );
      const published: Promise<readonly PublishResult[]>[] = [];
      const wanted: (readonly string[])[] = [];
      for (const [index, { afterMs, events, bytes }] of callers.entries()) {
        await jest.advanceTimersByTimeAsync(afterMs);
        const keys = Array.from({ length: events }, (_, i) => `${index}/${i}`);
        wanted.push(keys);
        published.push(calls.publish(callOf(keys, bytes)));
      }
      await jest.advanceTimersByTimeAsync(1_000);
      expect(jest.getTimerCount()).toBe(0);
      expect((await Promise.all(published)).map(idsOf)).toEqual(wanted);
      for (const keys of shared) {
        expect(keys.length).toBeLessThanOrEqual(PUBLISH_BATCH_MAX);
        expect(bytesOf(keys)).toBeLessThanOrEqual(PUBLISH_SLICES.bytes);
      }
    },
  );
  await fc.assert(property);
});
