import * as fc from "fast-check";
import { emptyMemory, recall, remember } from "../../bridge/reduce-memory";

const WRITES = fc.array(fc.tuple(fc.nat(60).map(String), fc.nat()), { maxLength: 300 });

function write(capacity: number, writes: readonly (readonly [string, number])[]) {
  return writes.reduce((memory, [key, value]) => remember(memory, key, value), emptyMemory<number>(capacity));
}

test("a memory recalls the last value of every key among its last writes, up to its capacity", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), WRITES, (capacity, writes) => {
      const memory = write(capacity, writes);
      for (const [key, value] of new Map(writes.slice(-capacity))) expect(recall(memory, key)).toBe(value);
    }),
  );
});

test("a memory never recalls what was not the last value of a key", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), WRITES, (capacity, writes) => {
      const memory = write(capacity, writes);
      const last = new Map(writes);
      for (let key = 0; key <= 60; key++) {
        expect([undefined, last.get(String(key))]).toContain(recall(memory, String(key)));
      }
    }),
  );
});

test("a memory keeps little more than its capacity", () => {
  fc.assert(
    fc.property(fc.integer({ min: 32, max: 1000 }), (capacity) => {
      const writes = Array.from({ length: 3 * capacity }, (_, index) => [String(index), index] as const);
      const kept = write(capacity, writes).generations.reduce((sum, { size }) => sum + size, 0);
      expect(kept).toBeLessThanOrEqual(33 * Math.ceil(capacity / 32));
      expect(kept).toBeGreaterThanOrEqual(capacity);
    }),
    { numRuns: 20 },
  );
});

test("a memory that was written to is as it was", () => {
  const before = remember(emptyMemory<number>(100), "a", 1);
  const after = remember(before, "a", 2);
  expect([recall(before, "a"), recall(after, "a")]).toEqual([1, 2]);
});
