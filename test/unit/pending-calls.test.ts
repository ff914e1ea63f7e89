import * as fc from "fast-check";
import { PendingCalls } from "../../edge/lane/pending-calls";
import { forAll } from "../harness/for-all";

const NUMBERS = 2 ** 32;

test("pending calls can be taken by number or oldest first, even after the numbers have started again from 0", () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ added: fc.integer({ min: 1, max: 40 }) }) },
    fc.record({ taken: fc.nat() }),
    fc.record({ unknown: fc.integer({ min: 0, max: NUMBERS - 1 }) }),
    fc.constant("oldest" as const),
  );
  const before = fc.constantFrom(0, NUMBERS - 50, 3 * NUMBERS - 1);
  forAll(fc.tuple(before, fc.array(step, { maxLength: 60 })), ([earlier, steps]) => {
    const calls = new PendingCalls<string>(earlier);
    const expected = new Map<number, string>();
    let next = earlier;
    for (const each of steps) {
      if (each === "oldest") {
        const [oldest] = expected;
        expect(calls.oldest).toBe(oldest?.[1]);
        expect(calls.takeOldest()).toBe(oldest?.[1]);
        if (oldest !== undefined) expected.delete(oldest[0]);
      } else if ("added" in each) {
        for (let i = 0; i < each.added; i++, next++) {
          const number = next % NUMBERS;
          expect(calls.add(`call ${next}`)).toBe(number);
          expected.set(number, `call ${next}`);
        }
      } else {
        const known = [...expected.keys()];
        const number = "taken" in each ? (known[each.taken % (known.length || 1)] ?? 0) : each.unknown;
        expect(calls.take(number)).toBe(expected.get(number));
        expected.delete(number);
        expect(calls.take(number)).toBeUndefined();
      }
      expect(calls.size).toBe(expected.size);
    }
    const left = Array.from(expected.values(), () => calls.takeOldest());
    expect(left).toEqual([...expected.values()]);
    expect(calls.oldest).toBeUndefined();
    expect(calls.takeOldest()).toBeUndefined();
  });
});
