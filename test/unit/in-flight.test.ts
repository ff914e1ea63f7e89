import * as fc from "fast-check";
import { createInFlight, deliveryId, parseDeliveryId } from "../../core/operations/in-flight";
import type { LogEntry } from "../../core/ports/follow-log";
import { forAll } from "../harness/for-all";

const DEADLINE_MS = 5_000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function entry(entryId: string, workspaceId = "a"): LogEntry {
  return { entryId, attempt: 1, workspaceId, receivedAtMs: 0, event: Buffer.alloc(0) };
}

test("a delivery id names a shard and an entry", () => {
  const entryId = "1700000000000-3";
  expect(parseDeliveryId(deliveryId(7, entryId), 16)).toEqual({ shard: 7, entryId });
});

const NO_ENTRIES =
  " 0 0: 0:1 0:1- 0:-1 :1-0 a:1-0 -1:1-0 0:+1-0 0:$ 16:1-0 99999999:1-0 0:99999999999999999999-0";
test.each([...NO_ENTRIES.split(" "), "0:1-0 ", "0:1-0\n", "0:0-18446744073709551616"])(
  "%j is not a delivery id for 16 shards",
  (id) => expect(parseDeliveryId(id, 16)).toBeUndefined(),
);

test("any string that parses as a delivery id names an existing shard", () => {
  forAll(fc.oneof(fc.string(), fc.stringMatching(/^\d{1,6}:\d{1,22}-\d{1,22}$/)), (id) => {
    const parsed = parseDeliveryId(id, 16);
    if (parsed === undefined) return;
    expect(parsed.shard).toBeLessThan(16);
    expect(id.length).toBeLessThanOrEqual(45);
    // Redis accepts an id only if both halves are below 2^64.
    for (const half of parsed.entryId.split("-")) expect(BigInt(half)).toBeLessThan(2n ** 64n);
  });
});

test("forgetting a shard forgets only the unacked events of this shard", () => {
  const inFlight = createInFlight(DEADLINE_MS);
  inFlight.add(0, entry("1-0"));
  inFlight.add(1, entry("1-0"));
  inFlight.forget(0);
  expect([inFlight.size, inFlight.has(0), inFlight.has(1)]).toEqual([1, false, true]);
});

// time: controlled
test("an overdue event is redelivered with the later unacked events of its workspace, in order", () => {
  const inFlight = createInFlight(DEADLINE_MS);
  expect(inFlight.nextDeadline).toBe(Infinity);
  for (const id of ["8-0", "9-0", "9-5", "10-0"]) inFlight.add(0, entry(id));
  inFlight.add(0, entry("10-1", "b"));
  inFlight.add(1, entry("11-0"));
  inFlight.remove(0, ["8-0", "9-5", "70-0"]);
  jest.advanceTimersByTime(DEADLINE_MS - 1);
  for (const id of ["10-10", "10-2"]) inFlight.add(0, entry(id));
  expect([inFlight.size, inFlight.overdue()]).toEqual([6, undefined]);
  expect(inFlight.nextDeadline).toBe(performance.now() + 1);
  jest.advanceTimersByTime(1);
  expect(inFlight.overdue()).toEqual({ shard: 0, entryIds: ["9-0", "10-0", "10-2", "10-10"] });
});

// time: controlled
test("for any events that are added, acked and redelivered, the order is kept, and every unacked event is redelivered in time", () => {
  type Step = { add: string } | { ack: number } | { pass: number };
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ add: fc.constantFrom("a", "b", "c") }),
    fc.record({ ack: fc.nat(20) }),
    fc.record({ pass: fc.integer({ min: 1, max: DEADLINE_MS }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const inFlight = createInFlight(DEADLINE_MS);
      const shardOf: Record<string, number> = { a: 0, b: 0, c: 1 };
      const out = new Map<string, { workspace: string; shard: number; id: string; since: number }>();
      let next = 1;

      function sendAgain(): void {
        for (let due = inFlight.overdue(); due !== undefined; due = inFlight.overdue()) {
          const { shard } = due;
          const again = due.entryIds.map((id) => out.get(deliveryId(shard, id)));
          const [first] = again;
          // The workspace's oldest unacked event becomes overdue first, so all its unacked events are redelivered.
          const expected = [...out.values()].filter(({ workspace }) => workspace === first?.workspace);
          expect(again).toEqual(expected);
          inFlight.remove(shard, due.entryIds);
          for (const each of expected) {
            inFlight.add(shard, entry(each.id, each.workspace));
            each.since = performance.now();
          }
        }
      }

      for (const each of steps) {
        if ("add" in each) {
          const shard = shardOf[each.add] ?? 0;
          const id = `${next++}-0`;
          inFlight.add(shard, entry(id, each.add));
          out.set(deliveryId(shard, id), { workspace: each.add, shard, id, since: performance.now() });
        } else if ("ack" in each) {
          const found = [...out.values()][each.ack];
          if (found === undefined) continue;
          inFlight.remove(found.shard, [found.id]);
          out.delete(deliveryId(found.shard, found.id));
        } else {
          jest.advanceTimersByTime(each.pass);
          sendAgain();
        }
        expect(inFlight.size).toBe(out.size);
        const oldest = Math.min(...[...out.values()].map(({ since }) => since));
        expect(inFlight.nextDeadline).toBe(oldest + DEADLINE_MS);
      }
    }),
  );
});
