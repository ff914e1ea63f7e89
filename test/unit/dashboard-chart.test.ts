import * as fc from "fast-check";
import { axisSteps } from "../../dashboard/words/axis-steps";
import { exactTime, localTime, writeTimesIn } from "../../dashboard/words/time-words";
import { forAll } from "../harness/for-all";

test("an axis has three to five whole numbers at equal distances, from 0 to at least the highest value", () => {
  forAll(fc.integer({ min: 0, max: 10_000_000 }), (max) => {
    const steps = axisSteps(max);
    const [zero = -1, step = 0] = steps;
    expect([steps.length >= 3, steps.length <= 5, zero]).toEqual([true, true, 0]);
    expect(steps).toEqual(steps.map((_, i) => i * step));
    expect(steps.at(-1)).toBeGreaterThanOrEqual(max);
  });
  expect(axisSteps(0)).toEqual([0, 1, 2, 3, 4]);
  expect(axisSteps(22)).toEqual([0, 10, 20, 30]);
});

test("times are shown in 24-hour format; a time that is not today is shown with its day", () => {
  const at = new Date(2026, 2, 1, 0, 5, 9);
  expect(localTime(at, "clock")).toBe("00:05");
  expect(localTime(at, "date")).toBe("1 Mar 2026, 00:05");
  const later = new Date(2026, 2, 1, 23, 59).getTime();
  expect(exactTime(at.toISOString(), later)).toBe("00:05:09");
  expect(exactTime(at.toISOString(), later + 60_000)).toBe("1 Mar, 00:05:09");
});

test("if the dashboard shows times in UTC, the days are also those of UTC", () => {
  writeTimesIn("utc");
  const at = "2026-03-01T23:59:59.000Z";
  expect(localTime(new Date(at), "date")).toBe("1 Mar 2026, 23:59");
  expect(exactTime(at, Date.parse(at) + 999)).toBe("23:59:59");
  expect(exactTime(at, Date.parse(at) + 1_000)).toBe("1 Mar, 23:59:59");
  writeTimesIn("local");
});
