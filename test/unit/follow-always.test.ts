import * as fc from "fast-check";
import { many } from "../harness/for-all";
import {
  closeAll,
  createGroup,
  pass,
  WORKSPACES,
  type Group,
  type Stream,
  type WorkspaceId,
} from "../harness/follow-group";

afterEach(() => void jest.useRealTimers());

type Step =
  | { do: "append"; workspace: WorkspaceId; count: number }
  | { do: "pass"; ms: number }
  | { do: "open" | "stop" | "crash"; consumer: string }
  | { do: "ack"; consumer: string; from: number; to: number }
  | { do: "nack"; consumer: string; at: number; delayMs: number }
  | { do: "away"; ms: number }
  | { do: "cut"; consumer: string; ms: number };
const consumer = fc.constantFrom("c1", "c2", "c3");
/**
 * Durations of at most `max` ms. Many are at most 80 ms, the time of the slowest call to the store, so that steps
 * happen while a call is in progress.
 */
const lasting = (max: number) => fc.oneof(fc.integer({ min: 1, max: 80 }), fc.integer({ min: 1, max }));
const steps = (...more: readonly fc.Arbitrary<Step>[]): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.oneof<fc.Arbitrary<Step>[]>(
      fc.record({
        do: fc.constant("append" as const),
        workspace: fc.constantFrom(...WORKSPACES),
        count: fc.integer({ min: 1, max: 6 }),
      }),
      fc.record({ do: fc.constant("pass" as const), ms: lasting(2_500) }),
      fc.record({ do: fc.constantFrom("open" as const, "stop" as const, "crash" as const), consumer }),
      fc.record({ do: fc.constant("ack" as const), consumer, from: fc.nat(6), to: fc.nat(12) }),
      fc.record({ do: fc.constant("ack" as const), consumer, from: fc.constant(0), to: fc.constant(99) }),
      ...more,
    ),
    { minLength: 5, maxLength: 40 },
  );

async function take(group: Group, step: Step): Promise<void> {
  const of = (consumer: string): Stream | undefined =>
    group.alive().findLast((stream) => stream.consumer === consumer);
  switch (step.do) {
    case "append":
      for (let i = 0; i < step.count; i++) group.memory.append(step.workspace);
      return;
    case "pass":
      return pass(step.ms);
    case "open":
      group.open(step.consumer);
      return;
    case "stop":
    case "crash":
      of(step.consumer)?.[step.do]();
      return;
    case "ack": {
      const stream = of(step.consumer);
      if (stream) group.ack(stream, ...stream.delivered.toReversed().slice(step.from, step.to));
      return;
    }
    case "nack": {
      const stream = of(step.consumer);
      const [nacked] = stream ? group.waiting(stream).toReversed().slice(step.at) : [];
      if (stream && nacked) group.nack(stream, step.delayMs, nacked);
      return;
    }
    case "cut": {
      const stream = of(step.consumer);
      group.memory.wasAway ||= stream !== undefined;
      if (stream) stream.connection.cutOff = true;
      await pass(step.ms);
      if (stream) stream.connection.cutOff = false;
      return;
    }
    case "away":
      return group.away(step.ms);
  }
}

/** Opens one more consumer, and acks delivered events until all events are acked. */
async function settle(group: Group): Promise<void> {
  group.open("last");
  // There are at most 240 events. If the window is 1, a round may deliver only one event, so 300 rounds are enough.
  for (let i = 0; i < 300 && group.memory.unacked > 0; i++) {
    await pass(500);
    for (const stream of group.alive()) group.ack(stream, ...stream.delivered);
  }
}

const nacks = fc.record({
  do: fc.constant("nack" as const),
  consumer,
  at: fc.nat(6),
  delayMs: fc.constantFrom(0, 500, 5_000, 600_000),
});

// time: controlled
test.each([
  ["streams open, stop, ack and crash", steps()],
  ["streams open, stop, ack, nack and crash", steps(nacks)],
  [
    "streams open, stop, ack and crash, and the store is sometimes unavailable",
    steps(
      fc.record({ do: fc.constant("away" as const), ms: lasting(6_000) }),
      fc.record({ do: fc.constant("cut" as const), consumer, ms: lasting(6_000) }),
    ),
  ],
])(
  "events of a workspace are delivered in order and within the window, and are never lost, while %s",
  async (_how, run) => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 8 }), run, async (window, todo) => {
        // Discards the timers that a failed run has left behind.
        jest.useFakeTimers();
        const group = createGroup(window);
        group.open("c1");
        for (const step of todo) await take(group, step);
        await settle(group);
        expect(group.faults).toEqual([]);
        expect(group.memory.unacked).toBe(0);
        await closeAll(group);
      }),
      { numRuns: many(200) },
    );
  },
);
