import * as fc from "fast-check";
import { durationOf, staleTimestamp } from "../../contract/timestamps";
import { forAll } from "../harness/for-all";

const NOW_MS = Date.UTC(2026, 10, 26, 21, 41, 7, 500);
const NOW_S = Math.floor(NOW_MS / 1000);
const SAYS = "the service's clock, which says 2026-11-26T21:41:07Z; at most 5 minutes are allowed";
const words = (timestamp: string | number) =>
  staleTimestamp(String(timestamp), NOW_MS, "the service's clock");

// time: controlled
test.each([
  [NOW_S + 301, `the signed timestamp is more than 5 minutes ahead of ${SAYS}`],
  [NOW_S - 301, `the signed timestamp is more than 5 minutes behind ${SAYS}`],
  [NOW_S - 360, `the signed timestamp is 6 minutes behind ${SAYS}`],
  [NOW_S + 3_960, `the signed timestamp is 66 minutes ahead of ${SAYS}`],
  [NOW_S - 7_200, `the signed timestamp is 120 minutes behind ${SAYS}`],
  [NOW_S - 36_000, `the signed timestamp is 10 hours behind ${SAYS}`],
  [NOW_S - 30 * 86_400, `the signed timestamp is 30 days behind ${SAYS}`],
  [0, `the signed timestamp is many years behind ${SAYS}`],
  ["9".repeat(400), `the signed timestamp is many years ahead of ${SAYS}`],
])("the difference of a stale timestamp is given with its direction: %s", (timestamp, message) => {
  expect(words(timestamp)).toBe(message);
});

// time: controlled
test("if the difference is just above 5 minutes, the message says that it is more than 5 minutes", () => {
  const words = staleTimestamp(String(NOW_S + 301), NOW_MS + 300, "the service's clock");
  expect(words).toMatch(/is more than 5 minutes ahead of/);
});

test("a difference of 120 seconds or more is given in minutes, like the limit", () => {
  expect([60, 119, 119.5, 120, 360].map(durationOf)).toEqual([
    "60 seconds",
    "119 seconds",
    "2 minutes",
    "2 minutes",
    "6 minutes",
  ]);
  forAll(fc.double({ min: 300.001, max: 1e12, noNaN: true }), (seconds) => {
    expect(durationOf(seconds)).not.toMatch(/second|^5 minutes/);
  });
});

test("if the timestamp is in milliseconds, the message says so", () => {
  for (const timestamp of [NOW_MS, `000${NOW_MS}`])
    expect(words(timestamp)).toMatch(/milliseconds.*Unix seconds/);
});

test("the message is short and does not repeat the timestamp, however many digits it has", () => {
  forAll(fc.stringMatching(/^[0-9]{14,300}$/), (digits) => {
    expect(words(digits).length).toBeLessThan(200);
    expect(words(digits)).not.toContain(digits);
  });
});
