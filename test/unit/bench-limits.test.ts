import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { isMet, LIMITS, speedChange } from "../../bench/limits";
import { forAll } from "../harness/for-all";

const times = fc.array(fc.double({ min: 1, max: 1_000, noNaN: true }), { minLength: 1, maxLength: 5 });

test("a figure keeps to its limit if it is equal to the limit or better", () => {
  expect([1.9, 2, 2.01].map((cost) => isMet(cost, { atMost: 2 }, [100, 105]))).toEqual(["yes", "yes", "no"]);
  expect([0.74, 0.75, 0.8].map((ratio) => isMet(ratio, { atLeast: 0.75 }, [100, 95]))).toEqual([
    "no",
    "yes",
    "yes",
  ]);
});

test("if the machine's speed changed by more than a tenth, it is unknown whether a figure keeps to its limit", () => {
  const why = "unknown (the machine's speed changed by 14 %)";
  for (const workMs of [
    [100, 114],
    [114, 100],
    [100, 105, 114],
  ])
    expect(isMet(1, { atMost: 2 }, workMs)).toBe(why);
});

test("the change of the speed does not depend on the order or the unit of the times", () => {
  forAll(times, fc.double({ min: 0.1, max: 10, noNaN: true }), (all, factor) => {
    const change = speedChange(all);
    expect(change).toBeGreaterThanOrEqual(0);
    expect(speedChange(all.toReversed())).toBe(change);
    expect(speedChange(all.map((ms) => ms * factor))).toBeCloseTo(change, 9);
  });
});

test("the benchmark's page has the limits that the benchmark checks", () => {
  const page = readFileSync(join(__dirname, "../../bench/README.md"), "utf8");
  for (const [part, limit] of Object.entries(LIMITS)) {
    const value = "atMost" in limit ? limit.atMost : limit.atLeast;
    expect(page).toMatch(new RegExp(`^\\| \`${part}\` +\\| .* \\| ${value} +\\|`, "m"));
  }
});
