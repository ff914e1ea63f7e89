import type { OutboundEvent } from "../../../bridge/events";

import { create, dm, ephemeral, ping, run, runPosted, update } from "./reduce-events";

// time: controlled
// contract: kit-expired
describe("rule 1: every event past its expiresAt is dropped", () => {
  const STALE = { sequence: 1, expiresAtMs: 1000 };

  test.each<[string, OutboundEvent]>([
    ["message.create", create("c1", STALE)],
    ["dm.create", dm("u1", STALE)],
    ["message.update", update(STALE)],
    ["message.ephemeral", ephemeral("c1", STALE)],
    ["ping", ping(STALE)],
  ])("a %s past its expiresAt is dropped unapplied", (_, event) => {
    expect(run().events(1001, event)).toEqual(["skip 1: expired"]);
  });

  test("an event at its expiresAt is not past it, and one with null or an unreadable date never is", () => {
    const year = 365 * 24 * 60 * 60_000;
    expect(run().events(1000, create("c1", STALE))).toEqual(["post 1"]);
    expect(run().events(year, create("c1", 1))).toEqual(["post 1"]);
    expect(run().events(year, { ...create("c1", 1), expiresAt: "soon" })).toEqual(["post 1"]);
  });
});

// contract: kit-highest-update
describe("rule 2: of several updates of a message only the one with the highest sequence is applied", () => {
  test.each([
    [2, 3, 4],
    [4, 2, 3],
    [3, 4, 2],
  ])("when they come together as %d, %d, %d", (...sequences) => {
    const effects = runPosted().events(1, ...sequences.map((sequence) => update(sequence)));
    expect(effects.toSorted()).toEqual(["edit 4 of chat1", "skip 2: superseded", "skip 3: superseded"]);
  });
});

// contract: kit-update-of-dropped
describe("rule 3: an update whose create was dropped is dropped too", () => {
  const STALE = create("c1", { sequence: 1, expiresAtMs: 10 });

  test.each<[string, readonly OutboundEvent[]]>([
    ["after it", [STALE, update(2)]],
    ["before it", [update(2), STALE]],
  ])("when it comes %s", (_, events) => {
    const effects = run().events(11, ...events);
    expect(effects.toSorted()).toEqual(["skip 1: expired", "skip 2: create-dropped"]);
  });
});

describe("rule 4: the cursor does not pass a refused create", () => {
  // time: controlled
  // contract: kit-refused-create
  test.each([
    ["message.create", create("c1", 1), "post 1"],
    ["dm.create", dm("u1", 1), "dm 1"],
  ])("a refused %s is retried until it succeeds, ever more slowly", (_, event, effect) => {
    const bridge = run();
    bridge.events(0, event);
    let ms = 0;
    for (const waitMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      bridge.refused(ms, 1);
      expect([bridge.isSettled(), bridge.wakeAt()]).toEqual([false, ms + waitMs]);
      expect(bridge.time(ms + waitMs - 1)).toEqual([]);
      ms += waitMs;
      expect(bridge.time(ms)).toEqual([effect]);
    }
    expect(bridge.isSettled()).toBe(false);
    bridge.posted(ms, 1);
    expect([bridge.isSettled(), bridge.wakeAt()]).toEqual([true, undefined]);
  });

  // time: controlled
  // contract: kit-refused-create
  test.each<[string, { expiresAtMs?: number }, number]>([
    ["its expiry", { expiresAtMs: 600_000 }, 600_000],
    ["the 24 hours that the service holds it", {}, 24 * 60 * 60_000],
  ])("a refused create is retried until %s, and may be passed then", (_what, expiry, endMs) => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1, ...expiry }));
    bridge.refused(endMs - 60_000, 1);
    expect(bridge.time(endMs)).toEqual(["post 1"]);
    bridge.refused(endMs, 1);
    expect(bridge.isSettled()).toBe(false);
    expect(bridge.time(endMs + 1)).toEqual(["skip 1: expired"]);
    expect(bridge.isSettled()).toBe(true);
  });

  test("a late create is posted before newer ones that wait", () => {
    const bridge = run();
    bridge.events(0, create("c1", 1), create("c1", 5));
    bridge.events(1, create("c1", 4));
    expect(bridge.posted(2, 1)).toEqual(["post 4"]);
    expect(bridge.posted(3, 4)).toEqual(["post 5"]);
  });
});

describe("rule 5: a refused update or ephemeral is dropped", () => {
  // contract: kit-refused-update
  test("a refused message.update is dropped, and the next one is applied", () => {
    const bridge = runPosted();
    bridge.events(1, update(2));
    bridge.events(1, update(3));
    expect(bridge.refused(2, 2)).toEqual(["skip 2: refused", "edit 3 of chat1"]);
    // An update under way may be the only copy of a question, so it is not passed.
    expect(bridge.isSettled()).toBe(false);
    expect(bridge.refused(3, 3)).toEqual(["skip 3: refused"]);
    expect(bridge.isSettled()).toBe(true);
  });
});
