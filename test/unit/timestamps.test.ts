import * as fc from "fast-check";
import { staleTimestamp } from "../../contract/timestamps";
import { forAll } from "../harness/for-all";

const NOW_MS = Date.UTC(2026, 10, 26, 21, 41, 7, 500);
const NOW_S = Math.floor(NOW_MS / 1000);
const SAYS = "the service's clock, which says 2026-11-26T21:41:07Z; at most 5 minutes are allowed";
const words = (timestamp: string | number) =>
  staleTimestamp(String(timestamp), NOW_MS, "the service's clock");

// time: controlled
test.each([
  [NOW_S + 301, `the signed timestamp is 301 seconds ahead of ${SAYS}`],
  [NOW_S - 301, `the signed timestamp is 302 seconds behind ${SAYS}`],
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
test("if the difference is just above 5 minutes, the message does not say 300 seconds", () => {
  const words = staleTimestamp(String(NOW_S + 301), NOW_MS + 300, "the service's clock");
  expect(words).toMatch(/is 301 seconds ahead of/);
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
