import * as fc from "fast-check";
import type { OutboundEvent } from "../../bridge/events";
import { reduce } from "../../bridge/reduce";
import type { BridgeEffect, BridgeInput } from "../../bridge/reduce-effect";
import { initialState, isSettled, lastingState, type BridgeState } from "../../bridge/reduce-state";
import { createChat, shownInOrder } from "./bridge-reduce-chat";
import { START_MS } from "./bridge-reduce-events";
import { serviceRun } from "./bridge-reduce-world";

const POLL_MS = 2_000;

interface Bridge {
  readonly chat: ReturnType<typeof createChat>;
  /** How many events the cursor has passed, poll by poll, and what the chat showed then. */
  readonly passed: readonly { readonly events: number; readonly posts: number }[];
}

/**
 * A bridge that polls pages of `pageSize` until its cursor has passed all events.
 * `refusals` says of each call of the chat for a post whether it is refused, and
 * `restarts` of each poll whether the process ended before it.
 */
function pollAll(
  events: readonly OutboundEvent[],
  pageSize: number,
  refusals: readonly boolean[],
  restarts: readonly boolean[],
): Bridge {
  const chat = createChat();
  const passed: { events: number; posts: number }[] = [];
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
    const eventId = effect.event.id;
    if (effect.type === "edit" || effect.type === "ephemeral") {
      chat.take(effect);
      return feed({ type: "done", eventId, nowMs });
    }
    if (refusing.next().value === true) return feed({ type: "refused", eventId, nowMs });
    feed({ type: "posted", eventId, chatMessageId: chat.take(effect), nowMs });
  }

  for (let polls = 0; cursor < events.length; polls++) {
    if (polls > 10_000) throw new Error("the cursor never passes");
    if (restarts[polls] === true) state = lastingState(state);
    feed({ type: "events", events: events.slice(cursor, cursor + pageSize), nowMs });
    if (isSettled(state)) {
      cursor += pageSize;
      passed.push({ events: cursor, posts: chat.posts.length });
    }
    nowMs += POLL_MS;
    feed({ type: "time", nowMs });
  }
  return { chat, passed };
}

const SCENARIO = [
  serviceRun(fc.constant(undefined)),
  fc.integer({ min: 1, max: 5 }),
  fc.array(fc.boolean(), { maxLength: 20 }),
  fc.array(fc.boolean(), { maxLength: 20 }),
] as const;

test("a polling bridge ends with the chat as in order, whatever the chat refuses and whenever it restarts", () => {
  fc.assert(
    fc.property(...SCENARIO, (events, pageSize, refusals, restarts) => {
      const { chat } = pollAll(events, pageSize, refusals, restarts);
      expect(chat.shown()).toEqual(shownInOrder(events));
      expect(chat.posts).toHaveLength(chat.shown().size);
      expect(chat.whispers).toEqual(chat.whispers.toSorted((a, b) => a - b));
    }),
    { numRuns: 500 },
  );
});

test("the messages of a place are posted in sequence order, whatever the chat refuses", () => {
  fc.assert(
    fc.property(...SCENARIO, (events, pageSize, refusals, restarts) => {
      const { chat } = pollAll(events, pageSize, refusals, restarts);
      for (const place of new Set(chat.posts.map(({ place }) => place))) {
        const posts = chat.posts.filter((post) => post.place === place);
        const sequences = posts.map(({ sequences }) => sequences[0] ?? 0);
        expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
      }
    }),
    { numRuns: 500 },
  );
});

// contract: kit-refused-create
test("a cursor never passes a create that the chat has not taken", () => {
  fc.assert(
    fc.property(...SCENARIO, (events, pageSize, refusals, restarts) => {
      for (const { events: count, posts } of pollAll(events, pageSize, refusals, restarts).passed) {
        const creates = events
          .slice(0, count)
          .filter(({ type }) => type === "message.create" || type === "dm.create");
        expect(posts).toBe(creates.length);
      }
    }),
    { numRuns: 500 },
  );
});
