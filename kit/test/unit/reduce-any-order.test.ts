import * as fc from "fast-check";
import type { OutboundEvent } from "../../events";
import { reduce } from "../../reduce";
import type { BridgeEffect, BridgeInput } from "../../reduce-effect";
import { initialState, isSettled, lastingState, type BridgeState } from "../../reduce-state";
import { forMany } from "../../../test/harness/for-all";
import { START_MS } from "./reduce-events";
import {
  arrivals,
  createChat,
  moods,
  placeOf,
  runWorld,
  serviceRun,
  shownInOrder,
  type Arrival,
  type Call,
  type History,
} from "./reduce-world";

const NEVER = fc.constant(undefined);
const SOMETIMES = fc.option(fc.integer({ min: 1, max: 12_000 }), { nil: undefined });

// time: controlled
// contract: kit-hold-update
test("events that arrive within 5 seconds of each other result in the same chat in any order, even with repeats and losses", () => {
  const scenario = serviceRun(NEVER).chain((events) => fc.tuple(arrivals(events, 4_999), moods()));
  forMany(500, scenario, ([arriving, moods]) => {
    const { chat, state } = runWorld(arriving, moods, isPost);
    const arrived = [...new Set(arriving.map(({ event }) => event))];
    expect(chat.shown()).toEqual(shownInOrder(arrived));
    const whispered = arrived.filter(({ type }) => type === "message.ephemeral");
    expect(sorted(chat.whispers)).toEqual(sorted(whispered.map(({ sequence }) => sequence)));
    expect(isSettled(state)).toBe(true);
  });
});

describe("whichever events arrive, expire or are refused", () => {
  const scenario = serviceRun(SOMETIMES).chain((events) => fc.tuple(arrivals(events, 15_000), moods()));
  const always = (holds: (history: History, arriving: readonly Arrival[]) => void) =>
    forMany(300, scenario, ([arriving, moods]) => holds(runWorld(arriving, moods), arriving));

  // contract: kit-dedupe
  test("each event is accepted once or skipped for one reason, and its repeats are skipped as duplicates", () => {
    always(({ chat, calls, skips, state }, arriving) => {
      const ids = chat.posts.map(({ messageId }) => messageId);
      expect(new Set(ids).size).toBe(ids.length);
      expect(new Set(chat.whispers).size).toBe(chat.whispers.length);
      const taken = calls.filter(({ refused }) => !refused).map(({ call }) => call.event.id);
      const skipped = skips.filter(({ reason }) => reason !== "duplicate").map(({ event }) => event.id);
      const arrived = [...new Set(arriving.map(({ event }) => event.id))];
      expect([...taken, ...skipped].toSorted()).toEqual(arrived.toSorted());
      expect(skips.length - skipped.length).toBe(arriving.length - arrived.length);
      expect([state.creates, [...state.updates], [...state.ephemerals]]).toEqual([[], [], []]);
    });
  });

  test("reduce gives the same result for the same state and input, and changes neither", () => {
    always(({ steps }) => {
      // Repeats the steps in reverse order: if `reduce` had changed the state of an earlier step, the result of that
      // step would now differ.
      for (const { state, input, reduced } of steps.toReversed()) {
        expect(reduce(state, input)).toEqual(reduced);
      }
    });
  });

  // time: controlled
  // contract: kit-expired, kit-update-of-dropped
  test("no event is applied past its expiresAt, and no update of an expired create is applied", () => {
    always(({ chat, calls, skips }) => {
      expect(calls.filter(({ call, fromMs }) => fromMs > expiresAtMs(call.event))).toEqual([]);
      for (const { event, reason } of skips) {
        if (event.type !== "message.create" && event.type !== "dm.create") continue;
        expect(["expired", "duplicate"]).toContain(reason);
        if (reason === "expired") expect(chat.shown().has(event.message.id)).toBe(false);
      }
    });
  });

  // contract: kit-sequence-order
  test("updates of a message are applied in sequence order; calls for one message and posts in one channel never overlap", () => {
    always(({ chat, calls }) => {
      for (const { sequences } of chat.posts) expect(sequences).toEqual(sorted(sequences));
      const ofMessages = calls.filter(({ call }) => call.type !== "ephemeral");
      expectOneAtATime(ofMessages, ({ message }) => message.id);
      const posts = calls.filter(({ call }) => isPost(call));
      expectOneAtATime(posts, placeOf);
    });
  });

  // contract: kit-highest-update
  test("a message shows an older update only if a newer update expired, was refused, or waited 5 seconds for its create", () => {
    always(({ chat, calls }, arriving) => {
      const endMs = Math.max(...arriving.map(({ atMs }) => atMs), ...calls.map(({ toMs }) => toMs));
      const refused = new Set(calls.filter((call) => call.refused).map(({ call }) => call.event.id));
      const firstAt = (test: (event: OutboundEvent) => boolean) =>
        Math.min(...arriving.filter(({ event }) => test(event)).map(({ atMs }) => atMs));
      for (const { messageId, sequences } of chat.posts) {
        const isOfThis = (event: OutboundEvent) => "message" in event && event.message.id === messageId;
        const createdAtMs = firstAt((event) => isOfThis(event) && event.type.endsWith(".create"));
        const isExcused = (event: OutboundEvent) =>
          refused.has(event.id) ||
          expiresAtMs(event) < endMs ||
          firstAt(({ id }) => id === event.id) + 5_000 <= createdAtMs;
        const updates = arriving.map(({ event }) => event).filter(isOfThis);
        const newer = updates.filter(
          ({ type, sequence }) => type === "message.update" && sequence > (sequences.at(-1) ?? 0),
        );
        expect(newer.length === 0 || newer.some(isExcused)).toBe(true);
      }
    });
  });
});

type Flags = readonly boolean[];

/**
 * Runs a polling bridge until its cursor has passed all events. `refusals` contains a flag for each post: whether the
 * chat refuses the post. `restarts` contains a flag for each poll: whether the process restarts before the poll.
 */
function pollAll(events: readonly OutboundEvent[], pageSize: number, refusals: Flags, restarts: Flags) {
  const chat = createChat();
  /** After each cursor move: how many events the cursor has passed, and how many posts the chat has. */
  const passed: { readonly count: number; readonly posts: number }[] = [];
  const refusing = refusals.values();
  let state: BridgeState = initialState();
  let cursor = 0;
  let nowMs = START_MS;

  function feed(input: BridgeInput): void {
    const reduced = reduce(state, input);
    ({ state } = reduced);
    for (const effect of reduced.effects) answer(effect);
  }
  function answer(effect: BridgeEffect): void {
    if (effect.type === "skip" || effect.type === "missed") return;
    const about = { eventId: effect.event.id, nowMs };
    if (!isPost(effect)) {
      chat.take(effect);
      return feed({ type: "done", ...about });
    }
    if (refusing.next().value === true) return feed({ type: "refused", ...about });
    feed({ type: "posted", chatMessageId: chat.take(effect), ...about });
  }

  for (let polls = 0; cursor < events.length; polls++) {
    if (polls > 10_000) throw new Error("the cursor never passes all events");
    if (restarts[polls] === true) state = lastingState(state);
    feed({ type: "events", events: events.slice(cursor, cursor + pageSize), nowMs });
    if (isSettled(state)) {
      cursor += pageSize;
      passed.push({ count: cursor, posts: chat.posts.length });
    }
    nowMs += 2_000;
    feed({ type: "time", nowMs });
  }
  return { chat, passed };
}

// contract: kit-refused-create
test("despite refusals and restarts, a polling bridge posts each message once and in order, and its cursor passes a create only after the create is posted", () => {
  const some = fc.array(fc.boolean(), { maxLength: 20 });
  forMany(500, serviceRun(NEVER), fc.integer({ min: 1, max: 5 }), some, some, (events, size, ...rest) => {
    const { chat, passed } = pollAll(events, size, ...rest);
    expect(chat.shown()).toEqual(shownInOrder(events));
    expect(chat.posts).toHaveLength(chat.shown().size);
    expect(chat.whispers).toEqual(sorted(chat.whispers));
    for (const place of new Set(chat.posts.map((post) => post.place))) {
      const posts = chat.posts.filter((post) => post.place === place);
      const sequences = posts.map((post) => post.sequences[0] ?? 0);
      expect(sequences).toEqual(sorted(sequences));
    }
    for (const { count, posts } of passed) {
      expect(posts).toBe(events.slice(0, count).filter(({ type }) => type.endsWith(".create")).length);
    }
  });
});

function isPost({ type }: BridgeEffect): boolean {
  return type === "post" || type === "dm";
}

/** Milliseconds after `START_MS` at which an event expires; Infinity for never. */
function expiresAtMs({ expiresAt }: OutboundEvent): number {
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

function sorted(numbers: readonly number[]): readonly number[] {
  return numbers.toSorted((a, b) => a - b);
}
