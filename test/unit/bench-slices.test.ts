import * as fc from "fast-check";
import { createScope } from "../../bench/scope";
import { alternate, mediansOf, pairOf, resultOf, type Figures, type Side } from "../../bench/slices";
import { median, quartilesOf } from "../../bench/statistics";
import { forAll } from "../harness/for-all";

const figures = (perSecond: number, cpuUs: number): Figures => {
  const cpu = { core: cpuUs / 2, redis: cpuUs / 2 };
  return { count: perSecond, fromMs: 0, toMs: 1_000, perSecond, cpuUs: cpu, memoryMs: 15 };
};
const pair = (rate: number, cost: number) => pairOf(figures(rate, cost), figures(100, 1));

const values = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 50 });

test("a benchmark's last line shows the median and the quartiles of its pairs' costs, and the median ratio", () => {
  const pairs = [pair(50, 3.25), pair(40, 4), pair(30, 2.5), pair(20, 2), pair(60, 5)];
  const { figure, lastLine, raw } = resultOf({ pairs }, { of: 1 });
  expect(lastLine).toBe("cost=3.250 q1=2.500 q3=4.000 ratio=0.400");
  expect(figure).toBe(3.25);
  const medians = { ours: { perSecond: 40, cpuUs: { core: 1.625 } }, cost: 3.25, ratio: 0.4 };
  expect(raw).toMatchObject({ of: 1, slices: pairs, medians });
});

test("half of the values lie between the first and the third quartile, whatever the order of the values", () => {
  forAll(values, (all) => {
    const [q1, q2, q3] = quartilesOf(all);
    const sorted = all.toSorted((a, b) => a - b);
    expect(quartilesOf(sorted)).toEqual([q1, q2, q3]);
    expect([q1, q2, q3]).toEqual([q1, q2, q3].toSorted((a, b) => a - b));
    expect(all.filter((value) => value >= q1).length).toBeGreaterThanOrEqual(all.length * 0.75 - 1);
    expect(all.filter((value) => value <= q3).length).toBeGreaterThanOrEqual(all.length * 0.75 - 1);
    expect(all.filter((value) => value <= q2).length).toBeGreaterThanOrEqual(all.length / 2);
    expect(all.filter((value) => value >= q2).length).toBeGreaterThanOrEqual(all.length / 2);
  });
});

test("the median of an empty list is not a number", () => {
  expect(median([])).toBeNaN();
});

test("the cost stays the same if the machine's speed changes from pair to pair", () => {
  const speeds = fc.array(fc.double({ min: 0.1, max: 10, noNaN: true }), { minLength: 1, maxLength: 40 });
  forAll(speeds, fc.double({ min: 0.5, max: 8, noNaN: true }), (slowness, cost) => {
    const pairs = slowness.map((by) =>
      pairOf(figures(1_000 / by, 40 * cost * by), figures(2_000 / by, 40 * by)),
    );
    const medians = mediansOf(pairs);
    expect(medians.cost).toBeCloseTo(cost, 6);
    expect(medians.ratio).toBeCloseTo(0.5, 6);
  });
});

// time: smoke
test("after a warm-up, a benchmark measures pairs of slices in alternating order, and prepares and checks each slice", async () => {
  const done: string[] = [];
  const side = (name: string, count: number): Side => ({
    pids: { [name]: process.pid },
    async prepare(seconds) {
      done.push(`prepare ${name} ${seconds}`);
    },
    async run(seconds) {
      done.push(`${name} ${seconds}`);
      return { count, fromMs: 1_000, toMs: 1_000 + seconds * 1_000 };
    },
    async settle(measure) {
      done.push(`${name} had ${measure.count}`);
    },
  });
  const lines: string[] = [];
  const scope = createScope();
  const { pairs } = await alternate(
    { scope, say: (line) => lines.push(line), options: { slices: 3 } },
    { unit: "things", ours: side("a", 30), reference: side("b", 60) },
  );
  await scope.close();
  const slice = (name: string, count: number) => [
    `prepare ${name} 0.5`,
    `${name} 0.5`,
    `${name} had ${count}`,
  ];
  const [a, b] = [slice("a", 30), slice("b", 60)];
  expect(done).toEqual([a, b, a, b, a, b, a, b, b, a, a, b].flat());
  const rates = pairs.map(({ ours, reference, ratio }) => [ours.perSecond, reference.perSecond, ratio]);
  expect(rates).toHaveLength(3);
  expect(rates).toEqual(pairs.map(() => [60, 120, 0.5]));
  const head = "pairs, ours things/s, a µs each, reference things/s, b µs each, cost, ratio";
  expect(lines[0]?.trim().split(/ {2,}/)).toEqual(head.split(", "));
  expect(lines.slice(1, 3).map((line) => line.trim().split(/ +/)[0])).toEqual(["3", "all"]);
  expect(lines[3]).toMatch(/instructions/);
});
