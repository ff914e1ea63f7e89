import { busiestPartOf, probablyFitting, readsAfter } from "../../core/operations/next-read";
import { largerShare, Pace } from "../../core/operations/pace";
import { hasPlace, placesFor, shareOf } from "../../core/operations/window-share";

const share = (window: number, room = window) => shareOf(window, room, new Map());

describe("a stream reads past a workspace that has used up its share", () => {
  test("a stream reads immediately if the workspace's first event in flight is old", () => {
    expect(readsAfter([{ inFlight: 50, since: 0 }], share(100, 50), 1_000)).toBe(1_000);
  });

  test("a stream reads later if the workspace's events were delivered a short time ago, because acks will probably make room", () => {
    expect(readsAfter([{ inFlight: 50, since: 990 }], share(100, 50), 1_000)).toBe(1_035);
  });

  test("a stream does not wait for workspaces that have room", () => {
    expect(readsAfter([{ inFlight: 49, since: 990 }], share(100, 51), 1_000)).toBe(1_000);
    expect(readsAfter([], share(100), 1_000)).toBe(1_000);
  });
});

describe("the number of events that probably fit", () => {
  test.each([1, 2, 3, 8, 9, 10, 100, 1_000])(
    "the number of events that probably fit equals the places in a window of %d that one workspace can use, if there is only one",
    (window) => {
      for (let inFlight = 0; inFlight < window; inFlight++) {
        const free = share(window, window - inFlight);
        const places = Math.max(1, placesFor(inFlight, free));
        expect(probablyFitting([{ inFlight, since: 0 }], free, 1)).toBe(places);
      }
    },
  );

  test("the number of events that probably fit is larger if several workspaces have events", () => {
    expect(probablyFitting([], share(100), 1 / 4)).toBe(81);
    expect(probablyFitting([{ inFlight: 6, since: 0 }], share(100, 20), 1 / 4)).toBe(20);
  });
});

test("the busiest workspace of a read is the one with the most events", () => {
  const entries = ["a", "b", "a", "c"].map((workspaceId) => ({ workspaceId }));
  expect([busiestPartOf(entries), busiestPartOf([])]).toEqual([1 / 2, 1]);
});

describe("a consumer is fast", () => {
  test("a consumer is fast after it has acked half a window of events", () => {
    const pace = new Pace();
    expect(pace.isFast(100, 0, 0)).toBe(false);
    pace.add(60, 0);
    pace.add(40, 50);
    expect([pace.isFast(100, 51, 60), pace.isFast(100, 50, 60)]).toEqual([false, true]);
  });

  test("a consumer is fast until no event was delivered for 100 ms", () => {
    const pace = new Pace();
    pace.add(100, 0);
    expect([pace.isFast(100, 0, 100), pace.isFast(100, 0, 101)]).toEqual([true, false]);
    pace.add(1, 200);
    expect(pace.isFast(100, 0, 200)).toBe(false);
  });
});

test.each([3, 8, 10, 100, 1_000])(
  "a larger share of a window of %d leaves an eighth of the window for other workspaces",
  (window) => {
    for (const isAlone of [true, false]) {
      let inFlight = 0;
      for (; hasPlace(inFlight, largerShare(share(window, window - inFlight), window, isAlone)); inFlight++);
      expect(window - inFlight).toBe(isAlone ? Math.ceil(window / 8) : window - Math.ceil(window / 2));
    }
  },
);
