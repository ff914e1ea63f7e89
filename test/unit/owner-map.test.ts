import * as fc from "fast-check";
import { OwnerMap } from "../../runtime/owner-map";
import { forAll } from "../harness/for-all";

const FORGET_AT = 4;
const newCounts = () =>
  new OwnerMap(
    () => ({ count: 0 }),
    ({ count }) => count === 0,
    FORGET_AT,
  );

test("an owner who is not idle is never forgotten, and the map keeps at most twice as many owners as needed", () => {
  const step = fc.record({ owner: fc.nat(30), more: fc.integer({ min: -1, max: 1 }) });
  forAll(fc.array(step, { maxLength: 200 }), (steps) => {
    const counts = newCounts();
    const model = new Map<string, number>();
    let busyMax = 0;
    for (const { owner, more } of steps) {
      const name = `owner ${owner}`;
      const count = Math.max(0, (model.get(name) ?? 0) + more);
      const value = counts.of(name);
      value.count = count;
      if (count === 0) counts.idle(name);
      model.set(name, count);
      const busy = [...model].filter(([, each]) => each > 0);
      busyMax = Math.max(busyMax, busy.length);
      for (const [each, expected] of busy) expect(counts.get(each)?.count).toBe(expected);
      if (count > 0) expect(counts.get(name)).toBe(value);
      expect(counts.size).toBeLessThanOrEqual(Math.max(FORGET_AT, 2 * busyMax));
    }
    expect([...counts.entries()].length).toBe(counts.size);
  });
});

test("an idle owner is remembered, except if its name is long", () => {
  const counts = newCounts();
  const long = "x".repeat(65);
  const value = counts.of("short");
  counts.of(long);
  counts.idle("short");
  counts.idle(long);
  expect(counts.of("short")).toBe(value);
  expect(counts.get(long)).toBeUndefined();
});

test("after many owners were busy at once, the requests of one owner make the map forget the others", () => {
  const counts = newCounts();
  const names = Array.from({ length: 100 }, (_, i) => `owner ${i}`);
  for (const name of names) counts.of(name).count = 1;
  for (const name of names) {
    counts.of(name).count = 0;
    counts.idle(name);
  }
  for (let request = 0; request < 1_600; request++) {
    counts.of("owner 0").count = 1;
    counts.of("owner 0").count = 0;
    counts.idle("owner 0");
  }
  expect(counts.size).toBeLessThanOrEqual(1);
});
