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

function add($case: "poll" | "receive", workspaceId: string): void {
  added.push({ call: `${$case} ${workspaceId}`, atMs: now });
  departures.add({ $case, value: { workspaceId } } as Call);
}

/** Lets time pass, in steps in which the turn of the event loop ends. */
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

test("polls of several workspaces wait until 20 ms after the last message, and depart together", () => {
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

test("a posted event departs at the end of the turn, with the polls that wait", () => {
  add("poll", "a");
  pass(3);
  add("poll", "b");
  pass(3);
  add("receive", "c");
  pass(EVERY_MS);
  expect(messages.map(({ calls }) => calls)).toEqual([["poll a"], ["poll b", "receive c"]]);
  expect(messages[1]?.atMs).toBe(6);
});

test("a bridge that polls page after page does not wait", () => {
  for (let page = 0; page < 5; page++) {
    add("poll", "a");
    pass(3);
  }
  expect(messages.map(({ atMs }) => atMs)).toEqual([0, 3, 6, 9, 12]);
});

test("every call departs once, in order: a posted event in its turn, and a poll within 20 ms", () => {
  const step = fc.record({
    afterMs: fc.nat(30),
    kind: fc.constantFrom("poll" as const, "poll" as const, "poll" as const, "receive" as const),
    workspace: fc.constantFrom("a", "b", "c"),
  });
  forAll(fc.array(step), (steps) => {
    start();
    const calls: { readonly call: string; readonly atMs: number }[] = [];
    for (const { afterMs, kind, workspace } of steps) {
      pass(afterMs);
      calls.push({ call: `${kind} ${workspace}`, atMs: now });
      add(kind, workspace);
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
