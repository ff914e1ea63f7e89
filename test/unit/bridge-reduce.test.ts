import { reduce } from "../../bridge/reduce";
import { initialState } from "../../bridge/reduce-state";
import { create, dm, ephemeral, ping, START_MS, update } from "./bridge-reduce-events";
import { OF_1, run } from "./bridge-reduce-run";

describe("each event", () => {
  test("a message.create is posted in its channel, and its message.id is mapped to the chat's own", () => {
    const bridge = run();
    expect(bridge.events(0, create("c1", { sequence: 1 }))).toEqual(["post 1"]);
    bridge.posted(1, 1);
    expect(bridge.events(2, update("c1", { ...OF_1, sequence: 2 }))).toEqual(["edit 2 of chat1"]);
  });

  test("a dm.create is sent to its user, and updated under dm:<user id>", () => {
    const bridge = run();
    expect(bridge.events(0, dm("u1", { sequence: 1 }))).toEqual(["dm 1"]);
    bridge.posted(1, 1);
    expect(bridge.events(2, update("dm:u1", { ...OF_1, sequence: 2 }))).toEqual(["edit 2 of chat1"]);
  });

  test("a message.ephemeral is shown to its user, and its message.id is never updated", () => {
    const bridge = run();
    expect(bridge.events(0, ephemeral("c1", { sequence: 1 }))).toEqual(["ephemeral 1"]);
    expect(bridge.done(1, 1)).toEqual([]);
    expect(bridge.events(2, update("c1", { ...OF_1, sequence: 2 }))).toEqual([]);
    expect(bridge.time(5_002)).toEqual(["skip 2: unmapped"]);
  });

  test("a ping shows nothing", () => {
    expect(run().events(0, ping({ sequence: 1 }))).toEqual(["skip 1: ping"]);
  });

  test("effects come in the order of the events' sequences", () => {
    const events = [
      ephemeral("c1", { sequence: 3 }),
      create("c2", { sequence: 2 }),
      create("c1", { sequence: 1 }),
    ];
    expect(run().events(0, ...events)).toEqual(["post 1", "post 2", "ephemeral 3"]);
  });

  test("effects pass the event on untouched", () => {
    const event = create("c1", { sequence: 1 });
    const { effects } = reduce(initialState(), { type: "events", events: [event], nowMs: START_MS });
    expect(effects).toEqual([{ type: "post", event }]);
    expect(effects[0]).toHaveProperty("event", event);
  });
});

// contract: kit-hold-update
describe("an update for a message.id with no mapping", () => {
  test("is held, and applied when its create comes within 5 seconds", () => {
    const bridge = run();
    expect(bridge.events(0, update("c1", { ...OF_1, sequence: 2 }))).toEqual([]);
    expect(bridge.wakeAt()).toBe(5_000);
    expect(bridge.events(4_999, create("c1", { sequence: 1 }))).toEqual(["post 1"]);
    expect(bridge.posted(6_000, 1)).toEqual(["edit 2 of chat1"]);
  });

  test("is ignored after 5 seconds", () => {
    const bridge = run();
    bridge.events(0, update("c1", { ...OF_1, sequence: 2 }));
    expect(bridge.time(4_999)).toEqual([]);
    expect(bridge.time(5_000)).toEqual(["skip 2: unmapped"]);
    bridge.events(5_001, create("c1", { sequence: 1 }));
    expect(bridge.posted(5_002, 1)).toEqual([]);
  });

  test("holds no cursor up", () => {
    const bridge = run();
    bridge.events(0, update("c1", { ...OF_1, sequence: 2 }));
    expect(bridge.isSettled()).toBe(true);
  });
});

// contract: kit-sequence-order
describe("updates are applied in sequence order", () => {
  test("an update older than the last applied one is skipped", () => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1 }));
    bridge.posted(0, 1);
    bridge.events(1, update("c1", { ...OF_1, sequence: 3 }));
    bridge.done(2, 3);
    expect(bridge.events(3, update("c1", { ...OF_1, sequence: 2 }))).toEqual(["skip 2: superseded"]);
  });

  test("an update older than one that the chat is at is skipped", () => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1 }));
    bridge.posted(0, 1);
    bridge.events(1, update("c1", { ...OF_1, sequence: 3 }));
    expect(bridge.events(2, update("c1", { ...OF_1, sequence: 2 }))).toEqual(["skip 2: superseded"]);
  });

  test("an update newer than the last applied one is applied, though a newer one was refused", () => {
    const bridge = run();
    bridge.events(0, create("c1", { sequence: 1 }));
    bridge.posted(0, 1);
    bridge.events(1, update("c1", { ...OF_1, sequence: 3 }));
    bridge.refused(2, 3);
    expect(bridge.events(3, update("c1", { ...OF_1, sequence: 2 }))).toEqual(["edit 2 of chat1"]);
  });
});

describe("what is remembered is bounded", () => {
  test("past its bound an event is not taken, and is taken when it comes again with room", () => {
    const bridge = run({ open: 1 });
    bridge.events(0, create("c1", { sequence: 1 }));
    expect(bridge.events(1, create("c2", { sequence: 2 }))).toEqual(["skip 2: full"]);
    expect(bridge.events(1, update("c1", { ...OF_1, sequence: 3 }))).toEqual(["skip 3: full"]);
    expect(bridge.events(1, ephemeral("c1", { sequence: 4 }))).toEqual(["skip 4: full"]);
    expect(bridge.events(1, ping({ sequence: 5 }))).toEqual(["skip 5: ping"]);
    bridge.posted(2, 1);
    expect(bridge.events(3, create("c2", { sequence: 2 }))).toEqual(["post 2"]);
  });

  test("an update takes the place of one that waits, full or not", () => {
    const bridge = run({ open: 2 });
    bridge.events(0, create("c1", { sequence: 1 }), update("c1", { ...OF_1, sequence: 2 }));
    expect(bridge.events(1, update("c1", { ...OF_1, sequence: 3 }))).toEqual(["skip 2: superseded"]);
  });

  test("a create whose message is forgotten is known by its event's id", () => {
    const bridge = run({ messages: 1 });
    for (let sequence = 1; sequence < 100; sequence++) {
      bridge.events(0, create("c1", { sequence }));
      bridge.posted(0, sequence);
    }
    expect(bridge.events(1, create("c1", { sequence: 1 }))).toEqual(["skip 1: duplicate"]);
  });

  test("a message that is forgotten while it is edited is updated all the same", () => {
    const bridge = run({ messages: 1 });
    bridge.events(0, create("c1", { sequence: 1 }));
    bridge.posted(0, 1);
    bridge.events(0, update("c1", { ...OF_1, sequence: 2 }));
    for (let sequence = 3; sequence < 100; sequence++) {
      bridge.events(0, create("c1", { sequence }));
      bridge.posted(0, sequence);
    }
    bridge.events(1, update("c1", { ...OF_1, sequence: 200 }));
    expect(bridge.time(5_001)).toEqual([]);
    expect(bridge.done(5_002, 2)).toEqual(["edit 200 of chat1"]);
  });

  test("a create whose event is forgotten is known by its message.id", () => {
    const bridge = run({ events: 1 });
    for (const sequence of [1, 2, 3]) {
      bridge.events(0, create("c1", { sequence }));
      bridge.posted(0, sequence);
    }
    for (let sequence = 10; sequence < 110; sequence++) bridge.events(0, ping({ sequence }));
    expect(bridge.events(1, create("c1", { sequence: 1 }))).toEqual(["skip 1: duplicate"]);
  });
});

test("over a restart the messages and what was done are kept, and what was under way comes again", () => {
  const bridge = run();
  bridge.events(0, create("c1", { sequence: 1 }), create("c2", { sequence: 2 }));
  bridge.posted(0, 1);
  bridge.restart();
  expect(bridge.events(1, create("c1", { sequence: 1 }), create("c2", { sequence: 2 }))).toEqual([
    "skip 1: duplicate",
    "post 2",
  ]);
  expect(bridge.events(2, update("c1", { ...OF_1, sequence: 3 }))).toEqual(["edit 3 of chat1"]);
});

test("answers about events that are not under way change nothing", () => {
  const bridge = run();
  expect([bridge.posted(0, 9), bridge.done(0, 9), bridge.refused(0, 9)]).toEqual([[], [], []]);
  expect(bridge.events(0, update("c1", { messageId: "msg_9", sequence: 10 }))).toEqual([]);
});

test("a date that cannot be read never makes an event stale", () => {
  const event = { ...create("c1", { sequence: 1 }), expiresAt: "soon" };
  const bridge = run();
  expect(bridge.events(0, event)).toEqual(["post 1"]);
  bridge.refused(1, 1);
  expect(bridge.time(1_001)).toEqual(["post 1"]);
});
