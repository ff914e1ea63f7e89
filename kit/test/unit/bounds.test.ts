import timers, { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { backOffMs, REAL_TIMING, retryAfterMs } from "../../back-off";
import { errorBody, readError } from "../../error-body";
import { hooksUrl } from "../../http-exchange";
import { createSeenIds } from "../../seen-ids";
import { createSerialQueues } from "../../serial-queues";
import { forAll } from "../../../test/harness/for-all";
import { gate } from "../harness/gate";

const BOUNDS = { firstMs: 250, mostMs: 8_000 };

// time: controlled
test("the wait doubles with each failure up to a limit, and jitter adds at most half of the wait", () => {
  const failures = fc.integer({ min: 1, max: 1000 });
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  forAll(failures, random, (count, chance) => {
    const plain = Math.min(8_000, 250 * 2 ** (count - 1));
    const wait = backOffMs(count, BOUNDS, chance);
    expect(wait).toBeGreaterThanOrEqual(plain);
    expect(wait).toBeLessThanOrEqual(plain * 1.5);
  });
  expect([1, 2, 3, 6, 7].map((count) => backOffMs(count, BOUNDS, 0))).toEqual([250, 500, 1000, 8000, 8000]);
});

test.each([
  ["1", 1000],
  ["30", 30_000],
  ["2592000", 2_592_000_000],
  ["99999999999", 99_999_999_999_000],
  [null, 0],
  ["", 0],
  ["soon", 0],
  ["-1", 0],
  ["1.5", 1500],
  ["0.0004", 1],
  [" 2 ", 2000],
  ["1,5", 0],
  ["1e3", 0],
  ["Infinity", 0],
  ["2026-10-21", 0],
  ["Wed, 21 Oct 2026 07:28:30 GMT", 30_000],
  ["Wednesday, 21-Oct-26 07:28:30 GMT", 30_000],
  ["Wed Oct 21 07:28:30 2026", 30_000],
  ["Sun Nov  1 07:28:00 2026", 11 * 86_400_000],
  ["Wed, 21 Oct 2026 07:27:59 GMT", 0],
  ["Wed, 99 Oct 2026 07:28:30 GMT", 0],
])("Retry-After: %j is %i ms", (header, ms) => {
  expect(retryAfterMs(header, Date.UTC(2026, 9, 21, 7, 28))).toBe(ms);
});

// time: controlled
test("the wait after a Retry-After, in seconds or as a date, is never shorter than the header says", () => {
  const seconds = fc.double({ min: 0, max: 1e9, noNaN: true }).map((each) => each.toFixed(3));
  forAll(seconds, (text) => expect(retryAfterMs(text, 0)).toBeGreaterThanOrEqual(Number(text) * 1000));
  const date = fc.date({ min: new Date("2000-01-01"), max: new Date("2049-12-31"), noInvalidDate: true });
  forAll(date, fc.nat({ max: 1e12 }), (at, nowMs) => {
    const wholeSeconds = Math.floor(at.getTime() / 1000) * 1000;
    expect(retryAfterMs(at.toUTCString(), nowMs)).toBe(Math.max(0, wholeSeconds - nowMs));
  });
});

test("any other Retry-After is ignored", () => {
  forAll(fc.string({ unit: "binary" }), (text) => expect(retryAfterMs(text, 0)).toBeGreaterThanOrEqual(0));
});

/** A delay in ms that is too long for Node's timers: a timer with this delay would fire after 1 ms. */
const BEYOND_TIMERS_MS = 2 ** 31;

// time: ordering
test.each([3_600_000, BEYOND_TIMERS_MS, Infinity])("a pause of %d ms ends when it is aborted", async (ms) => {
  const abort = new AbortController();
  let isOver = false;
  const paused = REAL_TIMING.pause(ms, abort.signal).then(() => (isOver = true));
  await nextTurn();
  expect(isOver).toBe(false);
  abort.abort();
  await paused;
});

// time: controlled
test("a pause that is too long for one timer uses several timers", async () => {
  const slept: number[] = [];
  const timer = jest.spyOn(timers, "setTimeout").mockImplementation(async (ms = 0) => void slept.push(ms));
  try {
    const pauses = fc.integer({ min: 0, max: 20 * BEYOND_TIMERS_MS });
    await fc.assert(
      fc.asyncProperty(pauses, async (ms) => {
        slept.length = 0;
        await REAL_TIMING.pause(ms, new AbortController().signal);
        expect(slept.reduce((sum, each) => sum + each, 0)).toBe(ms);
        expect(Math.max(...slept)).toBeLessThan(BEYOND_TIMERS_MS);
      }),
    );
  } finally {
    timer.mockRestore();
  }
});

test.each([
  ["https://games.example", "https://games.example/hooks/w1"],
  ["https://games.example/", "https://games.example/hooks/w1"],
  ["http://127.0.0.1:8080/api/v1//", "http://127.0.0.1:8080/api/v1/hooks/w1"],
])("the endpoint for the base address %s is %s", (base, url) => {
  expect(hooksUrl(base, "w1")).toBe(url);
});

test.each(["games.example", "ftp://games.example", ""])("%j is not a base address", (base) => {
  expect(() => hooksUrl(base, "w1")).toThrow("must be an http(s) address");
});

test("the message of an error body can be a string, a list of strings or missing", () => {
  const read = (value: unknown) => readError(Buffer.from(JSON.stringify(value)));
  const bad = { message: "bad", field: "user.id" };
  expect(read({ statusCode: 400, ...bad })).toEqual(bad);
  expect(read({ message: ["one", "two"] })).toEqual({ message: "one; two" });
  expect(readError(Buffer.from("<html>"))).toEqual({ message: "the answer does not say why" });
  expect(JSON.parse(errorBody(401, "no"))).toEqual({ statusCode: 401, message: "no", error: "Unauthorized" });
});

// time: controlled
test("ids are kept for a fixed time, and above the limit only the newest ids are kept", () => {
  const step = fc.record({ id: fc.constantFrom("a", "b", "c", "d", "e"), laterMs: fc.nat({ max: 40 }) });
  forAll(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (steps, most) => {
    const seen = createSeenIds({ forMs: 100, most });
    let model: { id: string; at: number }[] = [];
    let now = 0;
    for (const { id, laterMs } of steps) {
      now += laterMs;
      model = model.filter(({ at }) => at + 100 > now);
      const isKnown = model.some((each) => each.id === id);
      expect(seen.has(id, now)).toBe(isKnown);
      if (isKnown) continue;
      seen.add(id, now);
      model = [...model, { id, at: now }].slice(-most);
    }
  });
});

test("queued work begins in a later turn of the event loop, so an answer can be sent first", async () => {
  const queues = createSerialQueues(1);
  const done: string[] = [];
  queues.offer("a", async () => void done.push("work"));
  for (let i = 0; i < 10; i++) await Promise.resolve();
  done.push("the caller");
  await queues.idle();
  expect(done).toEqual(["the caller", "work"]);
});

test("a long queue leaves room for other queues", async () => {
  const queues = createSerialQueues(100);
  const { open, opened } = gate();
  const fill = (queue: string) => {
    let count = 0;
    while (queues.offer(queue, () => opened)) count++;
    return count;
  };
  expect([fill("a"), fill("b"), fill("c")]).toEqual([80, 16, 4]);
  open();
  await queues.idle();
  expect([queues.size, fill("a")]).toEqual([0, 80]);
  await queues.idle();
});

test("the work of one queue runs in order and never overlaps", async () => {
  const turns = { turns: fc.nat({ max: 3 }), turnsBefore: fc.nat({ max: 5 }) };
  const step = fc.record({ queue: fc.constantFrom("a", "b"), ...turns });
  const pass = async (turns: number) => {
    for (let i = 0; i < turns; i++) await nextTurn();
  };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const queues = createSerialQueues(100);
      const seen: string[] = [];
      for (const [i, { queue, turns, turnsBefore }] of steps.entries()) {
        await pass(turnsBefore);
        queues.offer(queue, async () => {
          seen.push(`${queue}${i} begins`);
          await pass(turns);
          seen.push(`${queue}${i} ends`);
        });
      }
      await queues.idle();
      for (const queue of ["a", "b"]) {
        const given = steps.flatMap((each, i) =>
          each.queue === queue ? [`${queue}${i} begins`, `${queue}${i} ends`] : [],
        );
        expect(seen.filter((each) => each.startsWith(queue))).toEqual(given);
      }
      expect(queues.size).toBe(0);
    }),
  );
});
