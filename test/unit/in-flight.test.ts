import * as fc from "fast-check";
import { deliveryId, EXTEND_WITHIN_MS, InFlight, parseDeliveryId } from "../../core/operations/in-flight";
import type { LogEntry } from "../../core/ports/follow-log";
import { forAll } from "../harness/for-all";

const DEADLINE_MS = 5_000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function entry(entryId: string, workspaceId = "a"): LogEntry {
  return { entryId, attempt: 1, workspaceId, receivedAtMs: 0, event: Buffer.alloc(0) };
}

test("a delivery id contains a shard and an entry id", () => {
  const entryId = "1700000000000-3";
  expect(parseDeliveryId(deliveryId(7, entryId), 16)).toEqual({ shard: 7, entryId });
});

const NO_ENTRIES =
  " 0 0: 0:1 0:1- 0:-1 :1-0 a:1-0 -1:1-0 0:+1-0 0:$ 16:1-0 99999999:1-0 0:99999999999999999999-0";
test.each([...NO_ENTRIES.split(" "), "0:1-0 ", "0:1-0\n", "0:0-18446744073709551616"])(
  "%j is not a delivery id for 16 shards",
  (id) => expect(parseDeliveryId(id, 16)).toBeUndefined(),
);

test("any string that parses as a delivery id contains an existing shard", () => {
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
  const inFlight = new InFlight(DEADLINE_MS);
  inFlight.add(0, entry("1-0"));
  inFlight.add(1, entry("1-0"));
  inFlight.forget(0);
  expect([inFlight.size, inFlight.has(0), inFlight.has(1)]).toEqual([1, false, true]);
});

// time: controlled
test("an overdue event is redelivered with the later unacked events of its workspace, in order", () => {
  const inFlight = new InFlight(DEADLINE_MS);
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
test("a deadline runs only for the first unacked event of a workspace, so 200 events with one ack every 500 ms are never overdue", () => {
  const inFlight = new InFlight(DEADLINE_MS);
  for (let i = 1; i <= 200; i++) inFlight.add(0, entry(`${i}-0`));
  for (let i = 1; i < 200; i++) {
    jest.advanceTimersByTime(500);
    expect(inFlight.overdue()).toBeUndefined();
    inFlight.remove(0, [`${i}-0`]);
    expect(inFlight.countsIn(0).get("a")).toBe(200 - i);
  }
  jest.advanceTimersByTime(DEADLINE_MS);
  expect(inFlight.overdue()).toEqual({ shard: 0, entryIds: ["200-0"] });
});

// time: controlled
test("an event's deadline can be extended until 10 minutes after it first began; later extensions, and extensions of later events, have no effect", () => {
  const inFlight = new InFlight(DEADLINE_MS);
  for (const id of ["1-0", "2-0"]) inFlight.add(0, entry(id));
  jest.advanceTimersByTime(1_000);
  inFlight.extend(0, "2-0");
  inFlight.extend(0, "9-0");
  expect(inFlight.nextDeadline).toBe(performance.now() + DEADLINE_MS - 1_000);
  for (let ms = 1_000; ms < EXTEND_WITHIN_MS; ms += 1_000) {
    inFlight.extend(0, "1-0");
    expect(inFlight.nextDeadline).toBe(performance.now() + DEADLINE_MS);
    jest.advanceTimersByTime(1_000);
  }
  inFlight.extend(0, "1-0");
  const last = inFlight.nextDeadline;
  jest.advanceTimersByTime(1);
  inFlight.extend(0, "1-0");
  expect(inFlight.nextDeadline).toBe(last);
  inFlight.remove(0, ["1-0"]);
  inFlight.extend(0, "2-0");
  expect(inFlight.nextDeadline).toBe(performance.now() + DEADLINE_MS);
});

// time: controlled
test("after the delay of a nack, the event and its workspace's later events are redelivered together; earlier events keep their deadline", () => {
  const inFlight = new InFlight(DEADLINE_MS);
  for (const id of ["1-0", "2-0", "3-0"]) inFlight.add(0, entry(id));
  inFlight.add(0, entry("4-0", "b"));
  inFlight.nack(0, "2-0", 2 * DEADLINE_MS);
  // The event is redelivered with the earlier event, and not before it.
  inFlight.nack(0, "3-0", 0);
  expect([inFlight.overdue(), inFlight.isGivenBack(0, "1-0"), inFlight.isGivenBack(0, "3-0")]).toEqual([
    undefined,
    false,
    true,
  ]);
  inFlight.remove(0, ["4-0"]);
  jest.advanceTimersByTime(DEADLINE_MS);
  expect(inFlight.overdue()).toEqual({ shard: 0, entryIds: ["1-0"] });
  inFlight.remove(0, ["1-0"]);
  expect(inFlight.nextDeadline).toBe(performance.now() + DEADLINE_MS);
  jest.advanceTimersByTime(DEADLINE_MS);
  expect(inFlight.overdue()).toEqual({ shard: 0, entryIds: ["2-0", "3-0"] });
});

interface ModelEvent {
  readonly workspace: string;
  readonly shard: number;
  readonly number: number;
  ranSince: number | undefined;
  deadline: number;
  /** The time of the redelivery after a nack of this event or an earlier event; Infinity if there is none. */
  dueAt: number;
}

/** A model with the same rules as `InFlight`, which it applies to all events at each step. */
function createModel() {
  const events: ModelEvent[] = [];
  const of = (workspace: string) =>
    events.filter((each) => each.workspace === workspace).toSorted((a, b) => a.number - b.number);
  function settle(): void {
    for (const each of events) {
      const [first] = of(each.workspace);
      const runs = each === first && each.dueAt === Infinity;
      if (!runs) each.deadline = Infinity;
      else if (each.deadline === Infinity) {
        each.deadline = performance.now() + DEADLINE_MS;
        each.ranSince ??= performance.now();
      }
    }
  }
  return {
    events,
    add(workspace: string, shard: number, number: number): void {
      const dueAt = of(workspace).at(-1)?.dueAt ?? Infinity;
      events.push({ workspace, shard, number, ranSince: undefined, deadline: Infinity, dueAt });
      settle();
    },
    remove(event: ModelEvent): void {
      events.splice(events.indexOf(event), 1);
      settle();
    },
    extend(event: ModelEvent): void {
      const isInTime = performance.now() - (event.ranSince ?? 0) <= EXTEND_WITHIN_MS;
      if (event.deadline < Infinity && isInTime) event.deadline = performance.now() + DEADLINE_MS;
    },
    nack(event: ModelEvent, delayMs: number): void {
      const line = of(event.workspace);
      const at = line.indexOf(event);
      if (at > 0 && (line[at - 1]?.dueAt ?? Infinity) < Infinity) return;
      for (const each of line.slice(at)) each.dueAt = performance.now() + delayMs;
      settle();
    },
    /** Returns the events of a workspace that must be redelivered now. */
    due(workspace: string): readonly ModelEvent[] {
      const now = performance.now();
      const line = of(workspace);
      if ((line[0]?.deadline ?? Infinity) <= now) {
        return line.filter(({ dueAt }) => dueAt === Infinity || dueAt <= now);
      }
      return line.filter(({ dueAt }) => dueAt <= now);
    },
  };
}

// time: controlled
test("for any events that are added, acked, extended, nacked and redelivered, the order is kept, and every unacked event is redelivered in time", () => {
  const index = fc.nat(20);
  const step = fc.oneof(
    fc.record({ is: fc.constant("add" as const), workspace: fc.constantFrom("a", "b", "c") }),
    fc.record({ is: fc.constant("ack" as const), index }),
    fc.record({ is: fc.constant("extend" as const), index }),
    fc.record({ is: fc.constant("nack" as const), index, delayMs: fc.constantFrom(0, 100, 3 * DEADLINE_MS) }),
    fc.record({ is: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: DEADLINE_MS }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const inFlight = new InFlight(DEADLINE_MS);
      const model = createModel();
      const shardOf: Record<string, number> = { a: 0, b: 0, c: 1 };
      let next = 1;

      function add(workspace: string, number: number): void {
        const shard = shardOf[workspace] ?? 0;
        inFlight.add(shard, entry(`${number}-0`, workspace));
        model.add(workspace, shard, number);
      }

      function sendAgain(): void {
        for (let due = inFlight.overdue(); due !== undefined; due = inFlight.overdue()) {
          const { shard, entryIds } = due;
          const first = model.events.find(
            (each) => each.shard === shard && `${each.number}-0` === entryIds[0],
          );
          const expected = model.due(first?.workspace ?? "");
          expect(entryIds).toEqual(expected.map(({ number }) => `${number}-0`));
          inFlight.remove(shard, entryIds);
          for (const each of expected) model.remove(each);
          for (const each of expected) add(each.workspace, each.number);
        }
      }

      for (const each of steps) {
        const found = "index" in each ? model.events[each.index] : undefined;
        if (each.is === "add") add(each.workspace, next++);
        else if (each.is === "pass") jest.advanceTimersByTime(each.ms);
        else if (found !== undefined) {
          const id = `${found.number}-0`;
          if (each.is === "ack") inFlight.remove(found.shard, [id]);
          else if (each.is === "extend") inFlight.extend(found.shard, id);
          else inFlight.nack(found.shard, id, each.delayMs);
          if (each.is === "ack") model.remove(found);
          else if (each.is === "extend") model.extend(found);
          else model.nack(found, each.delayMs);
        }
        const times = model.events.map(({ deadline, dueAt }) => Math.min(deadline, dueAt));
        expect([inFlight.size, inFlight.nextDeadline]).toEqual([
          model.events.length,
          Math.min(Infinity, ...times),
        ]);
        sendAgain();
        for (const workspace of ["a", "b", "c"]) {
          expect(inFlight.countsIn(shardOf[workspace] ?? 0).get(workspace) ?? 0).toBe(
            model.events.filter((event) => event.workspace === workspace).length,
          );
          expect(model.due(workspace)).toEqual([]);
        }
      }
    }),
  );
});

// time: controlled
test("in a shard that another stream waits for, events that have been in flight for longer than the deadline are overdue", () => {
  const inFlight = new InFlight(DEADLINE_MS);
  for (const id of ["1-0", "2-0"]) inFlight.add(0, entry(id));
  jest.advanceTimersByTime(DEADLINE_MS - 1);
  inFlight.add(0, entry("3-0"));
  inFlight.extend(0, "1-0");
  jest.advanceTimersByTime(1);
  inFlight.hurry(1);
  expect(inFlight.overdue()).toBeUndefined();
  inFlight.hurry(0);
  // The consumer is still working on the first event.
  expect(inFlight.overdue()).toEqual({ shard: 0, entryIds: ["2-0", "3-0"] });
});
