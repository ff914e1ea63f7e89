import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { isMet, LIMITS, speedChange } from "../../bench/limits";
import { cycleOfPlaces } from "../../bench/memory-speed";
import { forAll } from "../harness/for-all";

const times = fc.array(fc.double({ min: 1, max: 1_000, noNaN: true }), { minLength: 1, maxLength: 5 });

test("a figure meets its limit if it is equal to the limit or better", () => {
  const speeds = { workMs: [100, 105], memoryMs: [20, 22, 40, 21, 20], costs: [1.9, 2, 2, 2.1, 5] };
  expect([1.9, 2, 2.01].map((cost) => isMet(cost, { atMost: 2 }, speeds))).toEqual(["yes", "yes", "no"]);
  const withoutSlices = { workMs: [100, 95], memoryMs: [], costs: [] };
  expect([0.74, 0.75, 0.8].map((ratio) => isMet(ratio, { atLeast: 0.75 }, withoutSlices))).toEqual([
    "no",
    "yes",
    "yes",
  ]);
});

test("if the machine's speed changed by more than a tenth, it is unknown whether a figure meets its limit", () => {
  const why = "unknown (the machine's speed changed by 14 %)";
  for (const workMs of [
    [100, 114],
    [114, 100],
    [100, 105, 114],
  ])
    expect(isMet(1, { atMost: 2 }, { workMs, memoryMs: [20, 20], costs: [1] })).toBe(why);
});

test("if the memory was slow for half of the time, it is unknown whether a figure meets its limit", () => {
  const speeds = { workMs: [100, 100], memoryMs: [20, 28, 27, 20, 30], costs: [1] };
  const met = isMet(1, { atMost: 2 }, speeds);
  expect(met).toBe("unknown (half of the time, the memory was at least 35 % slower than at its fastest)");
});

test("if a quartile of the costs is far from their median, it is unknown whether the median meets its limit", () => {
  const steady = { workMs: [100, 100], memoryMs: [20, 20] };
  const metBy = (costs: readonly number[]) => isMet(1, { atMost: 2 }, { ...steady, costs });
  expect(metBy([0.5, 0.91, 1, 1.09, 3])).toBe("yes");
  expect(metBy([0.5, 0.88, 1, 1.05, 3])).toBe("unknown (a quartile is 12 % from the median)");
  expect(metBy([0.5, 0.95, 1, 1.3, 3])).toBe("unknown (a quartile is 30 % from the median)");
});

test("the timed reads from memory visit every cache line before they visit any of them again", () => {
  forAll(fc.integer({ min: 2, max: 300 }), (lines) => {
    const places = cycleOfPlaces(lines);
    const visited = new Set<number>();
    for (let place = 0; !visited.has(place); place = places[place] ?? NaN) visited.add(place);
    expect([...visited].toSorted((a, b) => a - b)).toEqual(Array.from({ length: lines }, (_, i) => i * 16));
  });
});

test("the calculated change of speed does not depend on the order or the unit of the times", () => {
  forAll(times, fc.double({ min: 0.1, max: 10, noNaN: true }), (all, factor) => {
    const change = speedChange(all);
    expect(change).toBeGreaterThanOrEqual(0);
    expect(speedChange(all.toReversed())).toBe(change);
    expect(speedChange(all.map((ms) => ms * factor))).toBeCloseTo(change, 9);
  });
});

test("the page about the benchmark lists the limits that the benchmark checks", () => {
  const page = readFileSync(join(__dirname, "../../bench/README.md"), "utf8");
  for (const [part, limit] of Object.entries(LIMITS)) {
    const value = "atMost" in limit ? limit.atMost : limit.atLeast;
    expect(page).toMatch(new RegExp(`^\\| \`${part}\` +\\| .* \\| ${value} +\\|`, "m"));
  }
});
