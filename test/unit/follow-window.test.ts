import * as fc from "fast-check";
import type { Parking } from "../../core/operations/parked-events";
import { many } from "../harness/for-all";
import {
  closeAll,
  createGroup,
  DEADLINE_MS,
  pass,
  seen,
  type Group,
  type Stream,
} from "../harness/follow-group";

let groups: Group[] = [];
beforeEach(() => void jest.useFakeTimers());
afterEach(async () => {
  for (const group of groups) await closeAll(group);
  groups = [];
  jest.useRealTimers();
});

function startGroup(window: number, parking?: Parking): Group {
  const group = createGroup(window, parking);
  groups.push(group);
  return group;
}

/** Posts `count` events in the workspace "a". The workspace "b" is in the same shard. */
function flood(group: Group, count: number): void {
  for (let i = 0; i < count; i++) group.memory.append("a");
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const names = (from: number, to: number, attempt = 1) => numbers(from, to).map((n) => `a${n}/${attempt}`);

// time: controlled
describe("while one workspace posts many events and none is acked,", () => {
  test("the events of this workspace fill half of the window, and an event of another workspace in the shard is delivered immediately", async () => {
    const group = startGroup(10);
    const stream = group.open("c");
    flood(group, 300);
    await pass(1_500);
    expect(seen(stream)).toEqual(names(0, 5));
    await group.append("b");
    expect(seen(stream)).toEqual([...names(0, 5), "b0/1"]);
  });

  test("only the unacked events of this workspace are redelivered, and its later events wait", async () => {
    const group = startGroup(10);
    const stream = group.open("c");
    flood(group, 20);
    await pass(DEADLINE_MS + 1_000);
    expect(seen(stream)).toEqual([...names(0, 5), ...names(0, 5, 2)]);
  });

  test("the next stream redelivers the unacked events, and delivers the later events for the first time, in order", async () => {
    const group = startGroup(10);
    const first = group.open("c");
    flood(group, 30);
    await pass(1_000);
    first.stop();
    const second = group.open("d");
    await pass(2_000);
    expect([seen(first), seen(second)]).toEqual([names(0, 5), names(0, 5, 2)]);
    await group.append("b");
    expect(seen(second).at(-1)).toBe("b0/1");
    for (let i = 0; i < 10; i++) {
      group.ack(second, ...second.delivered);
      await pass(500);
    }
    expect(seen(second).filter((name) => name.startsWith("a"))).toEqual([...names(0, 5, 2), ...names(5, 30)]);
    expect([group.memory.unacked, group.faults]).toEqual([0, []]);
  });

  test("a shard can move to another stream even if events of the workspace are parked", async () => {
    const group = startGroup(10);
    const first = group.open("c1");
    for (let i = 0; i < 20; i++) group.memory.append("c");
    await pass(1_000);
    // The shard of the workspace "c" belongs to the stream "cp": see follow.test.ts.
    const second = group.open("cp");
    group.ack(first, ...first.delivered);
    await pass(DEADLINE_MS + 2_000);
    expect(seen(second).length).toBeGreaterThanOrEqual(5);
    expect(group.faults).toEqual([]);
  });
});

// time: controlled
test("parked events are delivered as acks make room for their workspaces, and the workspaces take turns", async () => {
  const group = startGroup(9);
  const stream = group.open("c");
  flood(group, 30);
  for (let i = 0; i < 30; i++) group.memory.append("b");
  await pass(1_500);
  const before = stream.delivered.length;
  group.ack(stream, ...stream.delivered);
  await pass(500);
  expect(
    stream.delivered
      .slice(before)
      .map(({ workspaceId }) => workspaceId)
      .toSorted(),
  ).toEqual(["a", "a", "a", "b", "b", "b"]);
});

// time: controlled
test("while each workspace has room in the window, core reads only new events from the store", async () => {
  const group = startGroup(10);
  const stream = group.open("c");
  await pass(1_000);
  const { log } = stream.connection;
  const calls = (["readNew", "readAgain", "readEntries"] as const).map((name) => jest.spyOn(log, name));
  for (let i = 0; i < 20; i++) {
    await group.append("a", "a", "a", "b", "b");
    group.ack(stream, ...group.waiting(stream));
  }
  // In each round, the first event, the other events and a renewed lease each cause one call. The number varies a
  // little.
  const [readNew, ...others] = calls.map(({ mock }) => mock.calls.length);
  expect([stream.delivered.length, ...others]).toEqual([100, 0, 0]);
  expect(readNew).toBeLessThanOrEqual(70);
});

// time: controlled
test("while the consumer acks a workspace's events immediately, core parks none of them, and the workspace leaves room for others", async () => {
  const group = startGroup(40);
  const stream = group.open("c");
  await pass(1_000);
  const { log } = stream.connection;
  const calls = (["readNew", "readAgain", "readEntries"] as const).map((name) => jest.spyOn(log, name));
  flood(group, 1_000);
  while (stream.delivered.length < 800) {
    group.ack(stream, ...group.waiting(stream));
    await pass(1);
  }
  const [readNew = 0, ...others] = calls.map(({ mock }) => mock.calls.length);
  expect(others).toEqual([0, 0]);
  // Each read returns about as many events as one workspace can have in flight.
  expect(readNew).toBeLessThanOrEqual(40);
  await pass(1_000);
  expect(group.waiting(stream).length).toBeLessThanOrEqual(35);
  await group.append("b");
  expect(seen(stream).at(-1)).toBe("b0/1");
  expect(group.faults).toEqual([]);
});

// time: controlled
test("an event that arrives while acks make room is delivered after the parked events of its workspace", async () => {
  const group = startGroup(10);
  const stream = group.open("c");
  flood(group, 300);
  await pass(2_000);
  // The first ack makes core read a parked event. In some rounds, the other acks arrive during this read.
  for (let ms = 10; ms <= 300; ms += 10) {
    group.ack(stream, ...group.waiting(stream).slice(0, 1));
    group.memory.append("a");
    await pass(ms);
    group.ack(stream, ...group.waiting(stream));
    await pass(500);
  }
  for (let i = 0; i < 100 && group.memory.unacked > 0; i++) {
    group.ack(stream, ...group.waiting(stream));
    await pass(100);
  }
  expect([seen(stream), group.faults]).toEqual([names(0, 330), []]);
});

// time: controlled
test("a window of 1 has room for each workspace in turn", async () => {
  const group = startGroup(1);
  const stream = group.open("c");
  flood(group, 3);
  group.memory.append("b");
  for (let i = 0; i < 5; i++) {
    await pass(500);
    group.ack(stream, ...stream.delivered);
  }
  expect(seen(stream)).toEqual([...names(0, 3), "b0/1"]);
});

/** Returns the parking of a core that can park `places` events. */
function createParking(places: number) {
  const parking = {
    used: 0,
    reserve(count: number) {
      if (parking.used + count > places) return undefined;
      parking.used += count;
      return () => void (parking.used -= count);
    },
  };
  return parking;
}

// time: controlled
describe("when a core cannot park any more events,", () => {
  test("a stream stops reading the log until there is room, and no event is lost", async () => {
    const parking = createParking(200);
    const group = startGroup(10, parking);
    const stream = group.open("c");
    flood(group, 400);
    await pass(2_000);
    expect(parking.used).toBe(200);
    await group.append("b");
    expect(seen(stream)).not.toContain("b0/1");
    for (let i = 0; i < 200 && group.memory.unacked > 0; i++) {
      group.ack(stream, ...stream.delivered);
      await pass(500);
    }
    expect([group.memory.unacked, group.faults, parking.used]).toEqual([0, [], 0]);
    expect(stream.delivered.every(({ attempt }) => attempt === 1)).toBe(true);
  });

  test("a stream without parked events continues, but its window is no longer shared among workspaces", async () => {
    const group = startGroup(10, createParking(0));
    const stream = group.open("c");
    flood(group, 30);
    await pass(1_000);
    expect(seen(stream)).toEqual(names(0, 10));
  });

  test("when a stream ends, its places for parked events are free again", async () => {
    const parking = createParking(1_000);
    const group = startGroup(10, parking);
    const stream = group.open("c");
    flood(group, 250);
    await pass(2_000);
    expect(parking.used).toBe(300);
    stream.stop();
    await pass(1_000);
    expect(parking.used).toBe(0);
  });
});

const ofWorkspace = (stream: Stream, workspaceId: string) =>
  stream.delivered.filter((each) => each.workspaceId === workspaceId);

// time: controlled
describe("while a workspace has events that the consumer has nacked,", () => {
  test.each([1, 2, 10])(
    "the nacked events and the later ones take no room in a window of %d, and are delivered in order after the delay",
    async (window) => {
      const group = startGroup(window);
      const stream = group.open("c");
      flood(group, 30);
      await pass(1_000);
      const first = stream.delivered.length;
      group.nack(stream, 60_000, ...stream.delivered.slice(0, 1));
      for (let i = 0; i < 20; i++) {
        await group.append("b");
        group.ack(stream, ...ofWorkspace(stream, "b"));
      }
      expect(ofWorkspace(stream, "b")).toHaveLength(20);
      expect(ofWorkspace(stream, "a")).toHaveLength(first);

      await pass(60_500 - 20 * 500);
      expect(seen(stream).slice(first + 20)).toEqual(names(0, first, 2));
      for (let i = 0; i < 100 && group.memory.unacked > 0; i++) {
        group.ack(stream, ...stream.delivered);
        await pass(200);
      }
      expect(seen(stream).slice(first + 20)).toEqual([...names(0, first, 2), ...names(first, 30)]);
      expect([group.memory.unacked, group.faults]).toEqual([0, []]);
    },
  );

  test("the workspace's events wait for room after the delay if other workspaces have filled the window", async () => {
    const group = startGroup(8);
    const stream = group.open("c");
    flood(group, 20);
    await pass(1_000);
    expect(seen(stream)).toEqual(names(0, 4));
    group.nack(stream, 1_000, ...stream.delivered.slice(1, 2));
    // The window has room for seven events: four of "b", two of "c", and one of "d".
    for (const id of ["b", "c", "d"] as const) for (let i = 0; i < 10; i++) group.memory.append(id);
    await pass(1_900);
    expect(stream.delivered.slice(4).every(({ workspaceId }) => workspaceId !== "a")).toBe(true);
    expect(group.faults).toEqual([]);
    const others = stream.delivered.filter(({ workspaceId }) => workspaceId !== "a");
    group.ack(stream, ...others.slice(0, 2));
    await pass(100);
    // Some of the events are delivered now, and the rest when there is more room.
    expect(seen(stream).slice(4 + others.length)[0]).toBe("a1/2");
    for (let i = 0; i < 100 && group.memory.unacked > 0; i++) {
      group.ack(stream, ...group.waiting(stream));
      await pass(200);
    }
    const ofA = ofWorkspace(stream, "a").map(({ number, attempt }) => `a${number}/${attempt}`);
    expect(ofA).toEqual([...names(0, 4), ...names(1, 4, 2), ...names(4, 20)]);
    expect([group.memory.unacked, group.faults]).toEqual([0, []]);
  });

  test("the next stream gets the nacked events immediately, before the later events", async () => {
    const group = startGroup(10);
    const first = group.open("c");
    flood(group, 20);
    await pass(1_000);
    group.nack(first, 600_000, ...first.delivered.slice(2, 3));
    first.stop();
    const second = group.open("d");
    await pass(2_000);
    group.ack(second, ...second.delivered.slice(0, 4));
    await pass(500);
    expect(seen(second).slice(0, 6)).toEqual([...names(0, 5, 2), "a5/1"]);
    expect(group.faults).toEqual([]);
  });

  test("a stream that loses and regains the shard delivers the nacked events after the delay, before the later events", async () => {
    const group = startGroup(10);
    const stream = group.open("c");
    flood(group, 20);
    await pass(1_000);
    group.nack(stream, 30_000, ...stream.delivered.slice(2, 3));
    await group.away(15_000);
    group.ack(stream, ...stream.delivered.filter(({ number }) => number < 2));
    await pass(10_000);
    await group.append("b");
    expect(seen(stream).at(-1)).toBe("b0/1");
    group.ack(stream, ...ofWorkspace(stream, "b"));
    for (let i = 0; i < 200 && group.memory.unacked > 0; i++) {
      await pass(200);
      group.ack(stream, ...group.waiting(stream));
    }
    const order = ofWorkspace(stream, "a").map(({ number }) => number);
    expect(order.slice(order.lastIndexOf(2))).toEqual(numbers(2, 20));
    expect([group.memory.unacked, group.faults]).toEqual([0, []]);
  });
});

// time: controlled
test("nacked events, but at most 1,000, do not count toward the window", async () => {
  const group = startGroup(1_000);
  const stream = group.open("c");
  const counts: number[] = [];
  for (const id of ["a", "b", "c", "d", "e"] as const) {
    for (let i = 0; i < 1_000; i++) group.memory.append(id);
    await pass(2_000);
    counts.push(ofWorkspace(stream, id).length);
    group.nack(stream, 60_000, ...ofWorkspace(stream, id).slice(0, 1));
  }
  // For the last two workspaces, 500 and 750 places of the window are already taken.
  expect([counts, group.faults]).toEqual([[500, 500, 500, 250, 125], []]);
});

type Step =
  | { readonly do: "flood"; readonly count: number }
  | { readonly do: "ack"; readonly count: number }
  | { readonly do: "nack"; readonly count: number; readonly delayMs: number }
  | { readonly do: "ask" }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "move" };

const steps = fc.array(
  fc.oneof<fc.Arbitrary<Step>[]>(
    fc.record({ do: fc.constant("flood" as const), count: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ do: fc.constant("ack" as const), count: fc.nat(6) }),
    fc.record({
      do: fc.constant("nack" as const),
      count: fc.integer({ min: 1, max: 6 }),
      delayMs: fc.constantFrom(0, 1_000, 20_000),
    }),
    fc.record({ do: fc.constant("ask" as const) }),
    fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 2_500 }) }),
    fc.record({ do: fc.constant("move" as const) }),
  ),
  { minLength: 3, maxLength: 25 },
);

/**
 * Checks that the attempt number of each delivery exceeds the number of earlier deliveries: by exactly one if no stream
 * has stopped.
 */
function expectAttempts({ streams }: Group): void {
  const times = new Map<string, number>();
  for (const { workspaceId, number, attempt } of streams.flatMap(({ delivered }) => delivered)) {
    const name = `${workspaceId}${number}`;
    const before = times.get(name) ?? 0;
    times.set(name, before + 1);
    if (streams.length === 1) expect([name, attempt]).toEqual([name, before + 1]);
    else expect(attempt).toBeGreaterThan(before);
  }
}

// time: controlled
test("a workspace whose events are acked immediately never waits for acks of other workspaces, and all events are delivered, in order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 3, max: 12 }), steps, async (window, todo) => {
      const group = createGroup(window);
      let stream: Stream = group.open("s0");
      await pass(1_000);
      for (const step of todo) {
        if (step.do === "flood") flood(group, step.count);
        else if (step.do === "pass") await pass(step.ms);
        else if (step.do === "ack") {
          const ofA = stream.delivered.filter(({ workspaceId }) => workspaceId === "a");
          group.ack(stream, ...ofA.slice(-step.count));
        } else if (step.do === "nack") {
          group.nack(stream, step.delayMs, ...ofWorkspace(stream, "a").slice(-step.count).slice(0, 1));
        } else if (step.do === "ask") {
          const number = group.memory.append("b");
          await pass(1_500);
          const answer = stream.delivered.filter(
            (each) => each.workspaceId === "b" && each.number === number,
          );
          expect(answer).not.toEqual([]);
          group.ack(stream, ...answer);
        } else {
          stream.stop();
          stream = group.open(`s${group.streams.length}`);
          await pass(2_000);
        }
      }
      for (let i = 0; i < 1_000 && group.memory.unacked > 0; i++) {
        await pass(200);
        group.ack(stream, ...group.waiting(stream));
      }
      expect([group.memory.unacked, group.faults]).toEqual([0, []]);
      expectAttempts(group);
      await closeAll(group);
    }),
    { numRuns: many(100) },
  );
});
