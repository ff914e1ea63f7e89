import * as fc from "fast-check";
import { POLLS_LOGGED_MAX, PUSHES_LOGGED_MAX } from "../../contract/deliveries";
import { mergeDeliveries, oldestKept } from "../../dashboard/words/delivery-list";
import { minuteBuckets } from "../../dashboard/words/minute-buckets";
import { exactUtc, fromNow } from "../../dashboard/words/time-words";
import { forAll } from "../harness/for-all";
import { ago, delivery, NOW } from "./dashboard-delivery";

test("a merged log is newest first, keeps the highest count of each run of empty polls, and never drops pushes to make room for polls", () => {
  const run = (polls: number) => delivery({ id: "1-1000000", eventType: "poll", polls });
  const pushes = Array.from({ length: PUSHES_LOGGED_MAX + 1 }, (_, i) => delivery({ id: `0-${i}` }));
  const polls = Array.from({ length: POLLS_LOGGED_MAX }, (_, i) => ({ ...run(1), id: `2-${i}` }));
  expect(mergeDeliveries([run(3)], [run(2)])).toEqual([run(3)]);
  expect(mergeDeliveries([run(2)], [run(3)])).toEqual([run(3)]);
  const merged = mergeDeliveries([...polls, run(3)], pushes);
  expect(merged).toEqual([...polls.toReversed(), ...pushes.slice(1).toReversed()]);
  // Deliveries that are older than the result of `oldestKept` may be missing from the list.
  expect([oldestKept(merged)?.id, oldestKept(merged.slice(1))?.id]).toEqual(["2-0", "0-1"]);
  expect(oldestKept([run(3)])).toBeUndefined();
});

describe("`minuteBuckets`", () => {
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

  test("`minuteBuckets` counts each push of the last hour in its minute, and ignores older pushes", () => {
    const anyAge = fc.array(fc.integer({ min: -60_000, max: 3 * 3_600_000 }));
    forAll(anyAge, (ages) => {
      const pushes = ages.map((age) => delivery({ at: ago(age) }));
      const { minutes, success } = minuteBuckets(pushes, NOW);
      const hour = Array.from({ length: 61 }, (_, i) => Math.floor(NOW / 60_000 - 60 + i) * 60);
      expect(minutes).toEqual(hour);
      // If a core's clock is ahead, it logs pushes with times in the future. The chart counts such a push in the
      // current minute.
      const within = ages.filter((age) => age < 3_600_000).map((age) => NOW - Math.max(0, age));
      const of = within.map((at) => Math.floor(at / 60_000) * 60);
      const counts = minutes.map((each) => of.filter((minute) => minute === each).length);
      expect(success).toEqual(counts);
    });
  });

  test("`minuteBuckets` assigns fetched events to the minute of their poll, and finds the full minutes without a poll", () => {
    const anyPolls = fc.array(
      fc.record({ age: fc.integer({ min: 0, max: 2 * 3_600_000 }), events: fc.nat(9) }),
    );
    forAll(anyPolls, (made) => {
      const log = made.map(({ age, events }) =>
        delivery({ at: ago(age), lastAt: ago(age), polls: 1, events }),
      );
      const { minutes, polls, fetched, silent } = minuteBuckets(log, NOW);
      const within = made.filter(({ age }) => age < 3_600_000);
      expect(sum(fetched)).toBe(within.reduce((total, { events }) => total + events, 0));
      const first = Math.min(...made.map(({ age }) => NOW - age));
      minutes.forEach((minute, i) => {
        const isFull = i > 0 && i < minutes.length - 1;
        expect(silent[i]).toBe(isFull && polls[i] === 0 && minute * 1_000 >= first);
      });
    });
  });

  test("`minuteBuckets` counts accepted pushes and polls separately, and takes latencies from accepted pushes only", () => {
    const log = [
      ...[30, 10, 20].map((latencyMs) => delivery({ latencyMs })),
      delivery({ result: "timeout", latencyMs: 5_000 }),
      delivery({ result: "expired", latencyMs: 0 }),
      delivery({ eventType: "poll", polls: 1, attempt: 0, latencyMs: 0 }),
      // These polls were logged before the target URL was set.
      ...[600_000, 900_000].map((age) => delivery({ eventType: "poll", polls: 1, attempt: 0, at: ago(age) })),
    ];
    const { success, failed, dropped, polls, median, slowest } = minuteBuckets(log, NOW);
    expect([success, failed, dropped, polls].map(sum)).toEqual([3, 1, 1, 3]);
    const lists = [success, failed, dropped, polls, median, slowest];
    expect(lists.map((list) => list.at(-1))).toEqual([3, 1, 1, 1, 20, 30]);
    expect([success, median].map((list) => list[0])).toEqual([0, null]);
  });

  test.each([
    ["within one minute", 239, 20_000, 1_000, 239, 239],
    ["that spans minutes", 30, 90_000, 0, 30, 10],
    ["that began before the last hour", 3_601, 2 * 3_600_000, 0, 1_800, 16],
    ["that ended before the last hour", 100, 3 * 3_600_000, 2 * 3_600_000, 0, 0],
  ])(
    "`minuteBuckets` distributes a run of polls %s evenly over the run's duration",
    (_which, polls, first, last, total, atEnd) => {
      const run = { eventType: "poll", at: ago(first), polls, lastAt: ago(last), attempt: 0 };
      const counts = minuteBuckets([{ ...delivery(), ...run }], NOW).polls;
      expect([sum(counts), counts.at(-1)]).toEqual([total, atEnd]);
    },
  );
});

test.each([
  [0, "just now"],
  [-1_000, "just now"],
  [45_000, "45 s ago"],
  [-3 * 3_600_000, "in 3 h"],
  [26 * 3_600_000, "1 day ago"],
  [9 * 60_000 + 59_999, "9 min ago"],
])("%d ms before now is %j", (ms, words) => {
  expect(fromNow(NOW - ms, NOW)).toBe(words);
});

test("the exact time is shown in UTC", () => {
  expect(exactUtc("2026-03-01T12:00:30.123Z")).toBe("2026-03-01 12:00:30.123 UTC");
});
