import * as fc from "fast-check";
import { findCapacity } from "../../bench/capacity";
import { CheckFault } from "../../bench/part";
import { middleOf, spreadOf } from "../../bench/statistics";
import { many } from "../harness/for-all";

/** A service that answers at most `capacity` requests per second, in simulated time. */
function simulate(capacity: number) {
  let nowMs = 0;
  const rates: number[] = [];
  jest.spyOn(performance, "now").mockImplementation(() => nowMs);
  const send = async (rate: number, seconds: number): Promise<number> => {
    rates.push(rate);
    const count = rate * seconds;
    nowMs += Math.max(seconds, count / capacity) * 1_000;
    return count;
  };
  return { send, rates };
}
afterEach(() => jest.restoreAllMocks());

test("the search doubles the rate until answers arrive too slowly; the capacity is the highest rate of answers", async () => {
  const { send, rates } = simulate(700);
  await expect(findCapacity(100, send)).resolves.toBeCloseTo(700);
  expect(rates).toEqual([100, 200, 400, 800]);
});

test("the search finds the capacity from any first rate", async () => {
  const property = fc.asyncProperty(
    fc.integer({ min: 100, max: 20_000 }),
    fc.nat(999),
    async (capacity, share) => {
      const first = capacity / (1 + share / 2.5);
      await expect(findCapacity(first, simulate(capacity).send)).resolves.toBeCloseTo(capacity, 3);
    },
  );
  await fc.assert(property, { numRuns: many(100) });
});

test("the search fails if the service keeps up with every rate", async () => {
  await expect(findCapacity(1, simulate(1e9).send)).rejects.toThrow(CheckFault);
});

test("the ratio of several rounds is the median p99 divided by the median p50", () => {
  const rounds = [1, 2, 4].map((p50) => ({ ...spreadOf([]), p50, p99: p50 * p50 + 10 }));
  expect(middleOf(rounds)).toEqual({ p50: 2, p99: 14, ratio: 7 });
});
