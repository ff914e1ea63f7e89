import * as fc from "fast-check";
import { createReleaseWatch, OLDER_FOR_MS, type Release } from "../../dashboard/words/compare-releases";

const OWN: Release = { script: "/assets/index-own.js", builtAt: 2_000 };
const NEWER: Release = { script: "/assets/index-newer.js", builtAt: 3_000 };
const OLDER: Release = { script: "/assets/index-older.js", builtAt: 1_000 };
/** A release that does not yet send the header with the time of its build. */
const OLDEST: Release = { script: "/assets/index-oldest.js", builtAt: NaN };

test("a newer release, or a different build with the same time, needs a reload immediately", () => {
  const isOther = createReleaseWatch(OWN);
  expect(isOther(OWN, 0)).toBe(false);
  expect(isOther(NEWER, 0)).toBe(true);
  expect(isOther({ ...NEWER, builtAt: OWN.builtAt }, 0)).toBe(true);
});

test("the same script never needs a reload, whenever it was built", () => {
  fc.assert(
    fc.property(fc.oneof(fc.nat(), fc.constant(NaN)), (builtAt) => {
      expect(createReleaseWatch(OWN)({ ...OWN, builtAt }, 0)).toBe(false);
    }),
  );
});

// time: controlled
test("answers of older servers need no reload during an upgrade, but need one after a return to an older release", () => {
  const step = fc.record({ from: fc.constantFrom(OWN, OLDER, OLDEST), afterMs: fc.nat(OLDER_FOR_MS) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const isOther = createReleaseWatch(OWN);
      let nowMs = 0;
      let olderSinceMs: number | undefined;
      for (const { from, afterMs } of steps) {
        nowMs += afterMs;
        olderSinceMs = from === OWN ? undefined : (olderSinceMs ?? nowMs);
        const isReturn = olderSinceMs !== undefined && nowMs - olderSinceMs >= OLDER_FOR_MS;
        expect(isOther(from, nowMs)).toBe(isReturn);
      }
    }),
  );
});
