import * as fc from "fast-check";
import type { OutboundEvent } from "../../bridge/events";
import { reduce } from "../../bridge/reduce";
import { isSettled } from "../../bridge/reduce-state";
import { placeOf, shownInOrder } from "./bridge-reduce-chat";
import { START_MS } from "./bridge-reduce-events";
import { arrivals, moods, runWorld, serviceRun, type Arrival, type Call } from "./bridge-reduce-world";

const NEVER = fc.constant(undefined);
const SOMETIMES = fc.option(fc.integer({ min: 1, max: 12_000 }), { nil: undefined });

// contract: kit-hold-update
test("whatever the order, repetition and loss within 5 seconds, the chat ends as in order without what was lost", () => {
  const scenario = serviceRun(NEVER).chain((events) => fc.tuple(arrivals(events, 4_999), moods()));
  fc.assert(
    fc.property(scenario, ([arriving, moods]) => {
      const { chat, state } = runWorld(arriving, moods, ({ type }) => type === "post" || type === "dm");
      const arrived = [...new Set(arriving.map(({ event }) => event))];
      expect(chat.shown()).toEqual(shownInOrder(arrived));
      const whispered = arrived.filter(({ type }) => type === "message.ephemeral");
      expect(chat.whispers.toSorted(byNumber)).toEqual(
        whispered.map(({ sequence }) => sequence).toSorted(byNumber),
      );
      expect(isSettled(state)).toBe(true);
    }),
    { numRuns: 1000 },
  );
});

describe("whatever arrives, expires and is refused", () => {
  const scenario = serviceRun(SOMETIMES).chain((events) => fc.tuple(arrivals(events, 15_000), moods()));
  const always = (holds: (history: ReturnType<typeof runWorld>, arriving: readonly Arrival[]) => void) =>
    fc.assert(
      fc.property(scenario, ([arriving, moods]) => holds(runWorld(arriving, moods), arriving)),
      { numRuns: 300 },
    );

  // contract: kit-dedupe
  test("nothing is posted or shown twice", () => {
    always(({ chat }) => {
      const ids = chat.posts.map(({ messageId }) => messageId);
      expect(new Set(ids).size).toBe(ids.length);
      expect(new Set(chat.whispers).size).toBe(chat.whispers.length);
    });
  });

  test("the same state and input always have the same result, and neither is changed", () => {
    always(({ steps }) => {
      // Backwards, so that a state that was changed is not what it was when it was used.
      for (const { state, input, reduced } of steps.toReversed())
        expect(reduce(state, input)).toEqual(reduced);
    });
  });

  // contract: kit-expired
  test("no event is applied past its expiresAt", () => {
    always(({ calls }) => {
      expect(calls.filter(({ call, fromMs }) => fromMs > staleAfterMs(call.event))).toEqual([]);
    });
  });

  // contract: kit-sequence-order
  test("updates of a message are applied in sequence order, one at a time", () => {
    always(({ chat, calls }) => {
      for (const { sequences } of chat.posts) expect(sequences).toEqual(sequences.toSorted(byNumber));
      expectOneAtATime(
        calls.filter(({ call }) => call.type !== "ephemeral"),
        ({ message }) => message.id,
      );
    });
  });

  test("creates of a place are posted one at a time", () => {
    always(({ calls }) => {
      expectOneAtATime(
        calls.filter(({ call }) => call.type === "post" || call.type === "dm"),
        placeOf,
      );
    });
  });

  test("each event is taken by the chat or skipped for one reason, and its repeats are duplicates", () => {
    always(({ calls, skips, state }, arriving) => {
      const taken = calls.filter(({ refused }) => !refused).map(({ call }) => call.event.id);
      const skipped = skips.filter(({ reason }) => reason !== "duplicate").map(({ event }) => event.id);
      const arrived = [...new Set(arriving.map(({ event }) => event.id))];
      expect([...taken, ...skipped].toSorted()).toEqual(arrived.toSorted());
      expect(skips.length - skipped.length).toBe(arriving.length - arrived.length);
      expect([state.creates, [...state.updates], [...state.ephemerals]]).toEqual([[], [], []]);
    });
  });

  // contract: kit-update-of-dropped
  test("a create is dropped only when it expired, and no update of it is applied then", () => {
    always(({ chat, skips }) => {
      for (const { event, reason } of skips) {
        if (event.type !== "message.create" && event.type !== "dm.create") continue;
        expect(["expired", "duplicate"]).toContain(reason);
        if (reason === "expired") expect(chat.shown().has(event.message.id)).toBe(false);
      }
    });
  });

  // contract: kit-highest-update
  test("a message shows the newest update, unless one at least as new expired, was refused, or waited 5 seconds for its create", () => {
    always(({ chat, calls }, arriving) => {
      const endMs = Math.max(...arriving.map(({ atMs }) => atMs), ...calls.map(({ toMs }) => toMs));
      const refused = new Set(calls.filter((call) => call.refused).map(({ call }) => call.event.id));
      for (const { messageId, sequences } of chat.posts) {
        const firstAt = (test: (event: OutboundEvent) => boolean) =>
          Math.min(...arriving.filter(({ event }) => test(event)).map(({ atMs }) => atMs));
        const createdAtMs = firstAt((event) => isCreateOf(event, messageId));
        const isExcused = (event: OutboundEvent) =>
          refused.has(event.id) ||
          staleAfterMs(event) < endMs ||
          firstAt(({ id }) => id === event.id) + 5_000 <= createdAtMs;
        const updates = arriving
          .map(({ event }) => event)
          .filter((event) => event.type === "message.update" && event.message.id === messageId);
        const newer = updates.filter(({ sequence }) => sequence > (sequences.at(-1) ?? 0));
        expect(newer.length === 0 || newer.some(isExcused)).toBe(true);
      }
    });
  });
});

function isCreateOf(event: OutboundEvent, messageId: string): boolean {
  return (event.type === "message.create" || event.type === "dm.create") && event.message.id === messageId;
}

/** ms after the start; Infinity for never. */
function staleAfterMs({ expiresAt }: OutboundEvent): number {
  return expiresAt === null ? Infinity : Date.parse(expiresAt) - START_MS;
}

function expectOneAtATime(calls: readonly Call[], keyOf: (event: Call["call"]["event"]) => string): void {
  const freeAtMs = new Map<string, number>();
  for (const { call, fromMs, toMs } of calls) {
    const key = keyOf(call.event);
    expect(fromMs).toBeGreaterThanOrEqual(freeAtMs.get(key) ?? 0);
    freeAtMs.set(key, toMs);
  }
}

function byNumber(a: number, b: number): number {
  return a - b;
}
