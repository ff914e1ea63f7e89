import type { OutboundEvent } from "../../bridge/events";
import { create, dm, ephemeral, ping, update } from "./bridge-reduce-events";
import { OF_1, run } from "./bridge-reduce-run";

// contract: kit-expired
describe("rule 1: every event past its expiresAt is dropped", () => {
  test.each<[string, OutboundEvent]>([
    ["message.create", create("c1", { sequence: 1, expiresAtMs: 1000 })],
    ["dm.create", dm("u1", { sequence: 1, expiresAtMs: 1000 })],
    ["message.update", update("c1", { sequence: 1, expiresAtMs: 1000 })],
    ["message.ephemeral", ephemeral("c1", { sequence: 1, expiresAtMs: 1000 })],
    ["ping", ping({ sequence: 1, expiresAtMs: 1000 })],
  ])("a %s past its expiresAt is dropped unapplied", (_, event) => {
    expect(run().events(1001, event)).toEqual(["skip 1: expired"]);
  });

  test("an event at its expiresAt is not past it, and one with null never is", () => {
    const year = 365 * 24 * 60 * 60_000;
    expect(run().events(1000, create("c1", { sequence: 1, expiresAtMs: 1000 }))).toEqual(["post 1"]);
    expect(run().events(year, create("c1", { sequence: 1 }))).toEqual(["post 1"]);
  });

  test("an update that goes stale while it waits for its create is dropped", () => {
    const bridge = run();
    bridge.events(
      0,
      create("c1", { sequence: 1 }),
      update("c1", { ...OF_1, sequence: 2, expiresAtMs: 1000 }),
    );
    expect(bridge.wakeAt()).toBe(1001);
    expect(bridge.posted(1001, 1)).toEqual(["skip 2: expired"]);
  });
});

// contract: kit-highest-update
describe("rule 2: of several updates for one message.id only the one with the highest sequence is applied", () => {
  test.each([
    [2, 3, 4],
    [4, 2, 3],
    [3, 4, 2],
  ])("when they come together as %d, %d, %d", (...sequences) => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1 }));
    bridge.posted(0, 1);
    const updates = sequences.map((sequence) => update("c1", { ...OF_1, sequence }));
    const effects = bridge.events(1, ...updates);
    expect(effects.filter((effect) => !effect.startsWith("skip"))).toEqual(["edit 4 of chat1"]);
    expect(effects).toContain("skip 2: superseded");
    expect(effects).toContain("skip 3: superseded");
  });

  test("when they come while the chat posts the message", () => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1 }));
    bridge.events(1, update("c1", { ...OF_1, sequence: 2 }));
    expect(bridge.events(2, update("c1", { ...OF_1, sequence: 3 }))).toEqual(["skip 2: superseded"]);
    expect(bridge.posted(3, 1)).toEqual(["edit 3 of chat1"]);
  });

  test("when they come while the chat edits the message, one edit at a time", () => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1 }));
    bridge.posted(0, 1);
    bridge.events(1, update("c1", { ...OF_1, sequence: 2 }));
    expect(bridge.events(2, update("c1", { ...OF_1, sequence: 3 }))).toEqual([]);
    expect(bridge.events(3, update("c1", { ...OF_1, sequence: 4 }))).toEqual(["skip 3: superseded"]);
    expect(bridge.done(4, 2)).toEqual(["edit 4 of chat1"]);
  });

  test("updates of different messages do not supersede each other", () => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1 }), create("c2", { sequence: 2 }));
    bridge.posted(0, 1);
    bridge.posted(0, 2);
    const updates = [
      update("c1", { ...OF_1, sequence: 3 }),
      update("c2", { messageId: "msg_2", sequence: 4 }),
    ];
    expect(bridge.events(1, ...updates)).toEqual(["edit 3 of chat1", "edit 4 of chat2"]);
  });
});

// contract: kit-update-of-dropped
describe("rule 3: an update whose create was dropped is dropped too", () => {
  test.each<[string, readonly OutboundEvent[]]>([
    ["after it", [create("c1", { sequence: 1, expiresAtMs: 10 }), update("c1", { ...OF_1, sequence: 2 })]],
    ["before it", [update("c1", { ...OF_1, sequence: 2 }), create("c1", { sequence: 1, expiresAtMs: 10 })]],
  ])("when it comes %s", (_, events) => {
    expect(
      run()
        .events(11, ...events)
        .toSorted(),
    ).toEqual(["skip 1: expired", "skip 2: create-dropped"]);
  });

  test("when the chat refused the create until it expired", () => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1, expiresAtMs: 500 }), update("c1", { ...OF_1, sequence: 2 }));
    expect(bridge.refused(1, 1)).toEqual([]);
    expect(bridge.wakeAt()).toBe(501);
    expect(bridge.time(501)).toEqual(["skip 1: expired", "skip 2: create-dropped"]);
    expect(bridge.events(502, update("c1", { ...OF_1, sequence: 3 }))).toEqual(["skip 3: create-dropped"]);
  });
});

describe("rule 4: a refused create is not passed", () => {
  // contract: kit-refused-create
  test.each([
    ["message.create", create("c1", { sequence: 1 }), "post 1"],
    ["dm.create", dm("u1", { sequence: 1 }), "dm 1"],
  ])("a refused %s is tried until it succeeds, ever more slowly", (_, event, effect) => {
    const bridge = run();
    bridge.events(0, event);
    let ms = 0;
    for (const waitMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      bridge.refused(ms, 1);
      expect(bridge.isSettled()).toBe(false);
      expect(bridge.wakeAt()).toBe(ms + waitMs);
      expect(bridge.time(ms + waitMs - 1)).toEqual([]);
      ms += waitMs;
      expect(bridge.time(ms)).toEqual([effect]);
    }
    expect(bridge.isSettled()).toBe(false);
    bridge.posted(ms, 1);
    expect(bridge.isSettled()).toBe(true);
    expect(bridge.wakeAt()).toBeUndefined();
  });

  test("the chat may say how long it wants to be left alone", () => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1 }));
    bridge.refused(0, 1, 60_000);
    expect(bridge.wakeAt()).toBe(60_000);
  });

  // contract: kit-refused-create
  test("a refused create that expires is dropped, and the cursor may pass it", () => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1, expiresAtMs: 600_000 }));
    bridge.refused(599_999, 1);
    expect(bridge.time(600_000)).toEqual([]);
    expect(bridge.isSettled()).toBe(false);
    expect(bridge.time(600_001)).toEqual(["skip 1: expired"]);
    expect(bridge.isSettled()).toBe(true);
  });

  test("a refused create that never goes stale is tried for the 24 hours that the service would hold it", () => {
    const day = 24 * 60 * 60_000;
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1 }));
    bridge.refused(day - 60_000, 1);
    expect(bridge.time(day)).toEqual(["post 1"]);
    bridge.refused(day, 1);
    expect(bridge.time(day + 1)).toEqual(["skip 1: expired"]);
  });

  // contract: kit-dedupe
  test("events that repeat while it is polled again are deduped on their id", () => {
    const bridge = run();
    const page = [
      create("c1", { sequence: 1 }),
      create("c2", { sequence: 2 }),
      update("c1", { ...OF_1, sequence: 3 }),
      ephemeral("c1", { sequence: 4 }),
      ping({ sequence: 5 }),
    ];
    bridge.events(0, ...page);
    bridge.refused(1, 1);
    bridge.posted(1, 2);
    bridge.done(1, 4);
    const duplicates = page.map(({ sequence }) => `skip ${sequence}: duplicate`);
    expect(bridge.events(2, ...page)).toEqual(duplicates);
    expect(bridge.time(1_001)).toEqual(["post 1"]);
    expect(bridge.posted(1_002, 1)).toEqual(["edit 3 of chat1"]);
    bridge.done(1_003, 3);
    expect(bridge.isSettled()).toBe(true);
    expect(bridge.events(1_004, ...page)).toEqual(duplicates);
  });

  test("later creates of the same place wait for it, and those of other places do not", () => {
    const bridge = run();
    const page = [
      create("c1", { sequence: 1 }),
      create("c1", { sequence: 2 }),
      create("c2", { sequence: 3 }),
      dm("u1", { sequence: 4 }),
      dm("u2", { sequence: 5 }),
      dm("u1", { sequence: 6 }),
    ];
    expect(bridge.events(0, ...page)).toEqual(["post 1", "post 3", "dm 4", "dm 5"]);
    expect(bridge.refused(1, 1)).toEqual([]);
    expect(bridge.time(1_001)).toEqual(["post 1"]);
    expect(bridge.posted(1_002, 1)).toEqual(["post 2"]);
  });

  test("a create that comes late is posted before later ones that wait", () => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1 }), create("c1", { sequence: 5 }));
    bridge.events(1, create("c1", { sequence: 4 }));
    expect(bridge.posted(2, 1)).toEqual(["post 4"]);
    expect(bridge.posted(3, 4)).toEqual(["post 5"]);
  });

  test("a post that succeeds after it was given up on is taken note of", () => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1 }), update("c1", { ...OF_1, sequence: 2 }));
    bridge.refused(1, 1);
    expect(bridge.posted(2, 1)).toEqual(["edit 2 of chat1"]);
    expect(bridge.time(1_001)).toEqual([]);
  });
});

describe("rule 5: a refused update or ephemeral is dropped", () => {
  // contract: kit-refused-update
  test("a refused message.update is dropped, and the next one is applied", () => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1 }));
    bridge.posted(0, 1);
    bridge.events(1, update("c1", { ...OF_1, sequence: 2 }));
    bridge.events(1, update("c1", { ...OF_1, sequence: 3 }));
    expect(bridge.refused(2, 2)).toEqual(["skip 2: refused", "edit 3 of chat1"]);
    expect(bridge.refused(3, 3)).toEqual(["skip 3: refused"]);
    expect(bridge.isSettled()).toBe(true);
  });

  test("an update that the chat is at is not passed, since it may be the only copy of a question", () => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1 }));
    bridge.posted(0, 1);
    bridge.events(1, update("c1", { ...OF_1, sequence: 2 }));
    expect(bridge.isSettled()).toBe(false);
    bridge.done(2, 2);
    expect(bridge.isSettled()).toBe(true);
  });

  // contract: kit-refused-update
  test("a refused message.ephemeral is dropped", () => {
    const bridge = run();
    bridge.events(0, ephemeral("c1", { sequence: 1 }));
    expect(bridge.isSettled()).toBe(false);
    expect(bridge.refused(1, 1)).toEqual(["skip 1: refused"]);
    expect(bridge.isSettled()).toBe(true);
  });
});

// contract: kit-gap
describe("rule 6: a gap", () => {
  test("when gap is true the bridge may tell the channel, and the page is applied as any", () => {
    const bridge = run();
    const page = { type: "events" as const, events: [create("c1", { sequence: 1 })] };
    expect(bridge.at(0, { ...page, gap: true })).toEqual(["missed", "post 1"]);
    expect(run().at(0, { ...page, gap: false })).toEqual(["post 1"]);
  });
});
