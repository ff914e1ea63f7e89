import * as fc from "fast-check";
import type { OutboundEvent } from "../../events";
import type { PageProgress, UnfinishedPage } from "../../page-progress";
import { READ_AHEAD_LIMITS, ReadAhead } from "../../read-ahead";
import { forMany } from "../../../test/harness/for-all";
import { create } from "../../../test/harness/sample-events";

test("the pages of an idle workspace take no memory, even if the handler finishes none of them", () => {
  const ahead = new ReadAhead();
  const progress = jest.fn<ReturnType<UnfinishedPage["progress"]>, []>(() => ({ is: "busy" }));
  for (let i = 1; i <= 10; i++) ahead.add({ events: [], next: `${i}`, unfinished: { progress } });
  expect(ahead.end).toBe("10");
  ahead.problem();
  expect(progress).toHaveBeenCalledTimes(1);
  progress.mockReturnValue({ is: "done" });
  expect(ahead.pass()).toBe("10");
});

const START_MS = Date.parse("2026-01-01T00:00:00Z");
/** Returns an event that expires `afterMs` ms after the start, or never if `afterMs` is omitted. */
const event = (number: number, afterMs?: number): OutboundEvent =>
  create(number, { expiresAt: afterMs === undefined ? null : new Date(START_MS + afterMs).toISOString() });
const known = (ahead: ReadAhead, events: readonly OutboundEvent[]): readonly boolean[] =>
  events.map((each) => ahead.unread([each]).length === 0);

// time: controlled
test("expired events after a waiting create take no room, so other channels do not wait for it", () => {
  const ahead = new ReadAhead();
  let progress: PageProgress = { is: "waiting", problem: new Error("the chat says no") };
  ahead.add({ events: [event(0)], next: "0", unfinished: { progress: () => progress } });
  let nowMs = START_MS;
  for (let page = 1; page <= 100; page += 1) {
    const events = Array.from({ length: 100 }, (_, i) => event(page * 100 + i, page * 1_000 + 10_000));
    expect(ahead.isFull).toBe(false);
    ahead.add({ events, next: String(page), unfinished: undefined });
    nowMs += 1_000;
    ahead.forgetExpired(nowMs);
    // A poll of the saved cursor can return the waiting event and 99 events of the first page, so these stay in memory.
    expect(ahead.size).toBeLessThanOrEqual(1 + 100 + 11 * 100);
  }
  expect(ahead.end).toBe("100");
  progress = { is: "done" };
  expect(ahead.pass()).toBe("100");
  expect(ahead.size).toBe(0);
});

test("after a waiting create, events that do not expire still fill the memory", () => {
  const ahead = new ReadAhead();
  const waiting: PageProgress = { is: "waiting", problem: new Error("the chat says no") };
  ahead.add({ events: [event(0)], next: "0", unfinished: { progress: () => waiting } });
  for (let page = 1; page <= 50; page += 1) {
    const events = Array.from({ length: 100 }, (_, i) => event(page * 100 + i));
    ahead.add({ events, next: String(page), unfinished: undefined });
  }
  ahead.forgetExpired(START_MS + 24 * 3_600_000);
  expect([ahead.isFull, ahead.size]).toEqual([true, READ_AHEAD_LIMITS.events + 1]);
});

interface Step {
  /** For each event of the page: the seconds after which it expires; undefined for never. */
  readonly events: readonly (number | undefined)[];
  readonly isUnfinished: boolean;
  /** The number of the page that is finished before this step. */
  readonly finished: number;
  readonly seconds: number;
}
const PAGE = 4;
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    events: fc.array(fc.option(fc.nat({ max: 20 }), { nil: undefined }), { minLength: 1, maxLength: PAGE }),
    isUnfinished: fc.boolean(),
    finished: fc.nat({ max: 30 }),
    seconds: fc.nat({ max: 10 }),
  }),
  { maxLength: 30 },
);

// time: controlled
test("whatever expires, the memory keeps all events that a poll of the saved cursor can return, and all unexpired events after the cursor", () => {
  forMany(500, steps, (all) => {
    const ahead = new ReadAhead({ ...READ_AHEAD_LIMITS, page: PAGE });
    const read: OutboundEvent[] = [];
    const pages: { readonly end: number; isDone: boolean }[] = [];
    let [nowMs, saved] = [START_MS, 0];
    for (const step of all) {
      const finished = pages[step.finished];
      if (finished !== undefined) finished.isDone = true;
      nowMs += step.seconds * 1_000;
      ahead.forgetExpired(nowMs);
      const events = step.events.map((seconds, i) =>
        event(read.length + i, seconds === undefined ? undefined : nowMs - START_MS + seconds * 1_000),
      );
      read.push(...events);
      const page = { end: read.length, isDone: !step.isUnfinished };
      const progress = (): PageProgress => ({ is: page.isDone ? "done" : "busy" });
      pages.push(page);
      ahead.add({
        events,
        next: String(page.end),
        unfinished: step.isUnfinished ? { progress } : undefined,
      });
      saved = Number(ahead.pass() ?? saved);

      const firstUnfinished = pages.findIndex(({ isDone }) => !isDone);
      const passed = firstUnfinished < 0 ? read.length : (pages[firstUnfinished - 1]?.end ?? 0);
      expect([saved, Number(ahead.end ?? saved)]).toEqual([passed, read.length]);
      expect(known(ahead, read.slice(saved, saved + PAGE))).not.toContain(false);
      const fresh = read.slice(saved).filter(({ expiresAt }) => Date.parse(expiresAt ?? "9999") >= nowMs);
      expect(known(ahead, fresh)).not.toContain(false);
    }
  });
});
