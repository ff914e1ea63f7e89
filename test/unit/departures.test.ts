import * as fc from "fast-check";
import { Departures } from "../../edge/lane/departures";
import type { Call } from "../../edge/lane/lane";
import { forAll } from "../harness/for-all";

const EVERY_MS = 20;

let now: number;
let added: { readonly call: string; readonly atMs: number }[];
let messages: { readonly calls: readonly string[]; readonly atMs: number }[];
let departures: Departures;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  start();
});
afterEach(() => {
  jest.useRealTimers();
});

function start(): void {
  [now, added, messages] = [0, [], []];
  departures = new Departures(() => {
    messages.push({ calls: added.map(({ call }) => call), atMs: now });
    added = [];
  }, EVERY_MS);
}

function add($case: "poll" | "receive", sourceAddress: string): void {
  added.push({ call: `${$case} ${sourceAddress}`, atMs: now });
  departures.add({ $case, value: { sourceAddress } } as Call);
}

/** Advances the time in steps of 1 ms; in each step, the turn of the event loop ends. */
function pass(ms: number): void {
  jest.advanceTimersByTime(0);
  for (let passed = 0; passed < ms; passed++) {
    now += 1;
    jest.advanceTimersByTime(1);
  }
}

test("a poll departs at the end of the turn if no message departed in the last 20 ms", () => {
  add("poll", "a");
  add("poll", "b");
  pass(EVERY_MS);
  add("poll", "c");
  pass(1);
  expect(messages).toEqual([
    { calls: ["poll a", "poll b"], atMs: 0 },
    { calls: ["poll c"], atMs: EVERY_MS },
  ]);
});

test("polls from several addresses wait until 20 ms after the last message, and depart together", () => {
  add("poll", "a");
  pass(3);
  add("poll", "b");
  pass(10);
  add("poll", "c");
  pass(EVERY_MS);
  expect(messages).toEqual([
    { calls: ["poll a"], atMs: 0 },
    { calls: ["poll b", "poll c"], atMs: EVERY_MS },
  ]);
});

test("a posted event departs at the end of the turn, together with the waiting polls", () => {
  add("poll", "a");
  pass(3);
  add("poll", "b");
  pass(3);
  add("receive", "c");
  pass(EVERY_MS);
  expect(messages.map(({ calls }) => calls)).toEqual([["poll a"], ["poll b", "receive c"]]);
  expect(messages[1]?.atMs).toBe(6);
});

test("an address that polls again after each answer waits only for its first answer, even while other bridges poll", () => {
  add("poll", "another");
  pass(2);
  const waits: number[] = [];
  for (let page = 0; page < 100; page++) {
    const sent = now;
    add("poll", "a");
    while (added.length > 0) pass(1);
    waits.push(now - sent);
    add("poll", `another ${page}`);
    pass(2);
  }
  expect(waits[0]).toBe(EVERY_MS - 2);
  expect(Math.max(...waits.slice(1))).toBeLessThanOrEqual(1);
});

test("an address that has not polled for a while waits again", () => {
  add("poll", "a");
  pass(EVERY_MS);
  for (let poll = 0; poll < 3; poll++) {
    pass(4 * EVERY_MS);
    add("poll", `another ${poll}`);
    pass(1);
    add("poll", "a");
    pass(1);
    expect(added).toHaveLength(1);
  }
});

test("at most 4,096 addresses are remembered, and polls from further addresses wait", () => {
  for (let i = 0; i < 4_096; i++) add("poll", `address ${i}`);
  add("poll", "further");
  pass(1);
  add("poll", "address 4095");
  pass(1);
  expect(messages.map(({ calls }) => calls.length)).toEqual([4_097, 1]);
  add("poll", "further");
  pass(1);
  expect(added).toHaveLength(1);
});

test("every call departs once and in order: a posted event in the same turn of the event loop, and a poll within 20 ms", () => {
  const step = fc.record({
    afterMs: fc.nat(30),
    kind: fc.constantFrom("poll" as const, "poll" as const, "poll" as const, "receive" as const),
    address: fc.constantFrom("a", "b", "c", "d", "e"),
  });
  forAll(fc.array(step), (steps) => {
    start();
    const calls: { readonly call: string; readonly atMs: number }[] = [];
    for (const { afterMs, kind, address } of steps) {
      if (afterMs > 0) pass(afterMs);
      calls.push({ call: `${kind} ${address}`, atMs: now });
      add(kind, address);
    }
    pass(EVERY_MS + 1);
    const departed = messages.flatMap((message) =>
      message.calls.map((call) => ({ call, atMs: message.atMs })),
    );
    expect(departed.map(({ call }) => call)).toEqual(calls.map(({ call }) => call));
    for (const [i, { call, atMs }] of calls.entries()) {
      const waited = (departed[i]?.atMs ?? NaN) - atMs;
      expect(waited).toBeGreaterThanOrEqual(0);
      expect(waited).toBeLessThanOrEqual(call.startsWith("poll") ? EVERY_MS : 0);
    }
  });
});
