import * as fc from "fast-check";
import { emptyMemory, recall, remember } from "../../reduce-memory";
import { forAll, forMany } from "../../../test/harness/for-all";
import { create, dm, ephemeral, ping, run, runPosted, update } from "./reduce-events";

// time: controlled
// contract: kit-expired
test("an event is dropped only after its expiresAt, and never if expiresAt is null or an invalid date", () => {
  const stale = { sequence: 1, expiresAtMs: 1000 };
  const message = create("c1", stale);
  const events = [message, dm("u1", stale), update(stale), ephemeral("c1", stale), ping(stale)];
  for (const event of events) expect(run().events(1001, event)).toEqual(["skip 1: expired"]);
  expect(run().events(1000, message)).toEqual(["post 1"]);
  const year = 365 * 24 * 60 * 60_000;
  for (const expiresAt of [null, "soon"])
    expect(run().events(year, { ...message, expiresAt })).toEqual(["post 1"]);
});

// contract: kit-highest-update
test.each(["2 3 4", "4 2 3", "3 4 2"])(
  "of the updates %s, only the update with the highest sequence is applied",
  (sequences) => {
    const updates = sequences.split(" ").map((sequence) => update(Number(sequence)));
    const effects = runPosted().events(1, ...updates);
    expect(effects.toSorted()).toEqual(["edit 4 of chat1", "skip 2: superseded", "skip 3: superseded"]);
  },
);

// contract: kit-update-of-dropped
test("an update is dropped if its create was dropped, whichever event arrives first", () => {
  const events = [create("c1", { sequence: 1, expiresAtMs: 10 }), update(2)];
  for (const each of [events, events.toReversed()]) {
    const effects = run().events(11, ...each);
    expect(effects.toSorted()).toEqual(["skip 1: expired", "skip 2: create-dropped"]);
  }
});

// time: controlled
// contract: kit-refused-create
test.each([
  ["message.create", create("c1", 1), "post 1"],
  ["dm.create", dm("u1", 1), "dm 1"],
])("a refused %s is retried at growing intervals until it succeeds", (_, event, effect) => {
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
  ["it expires", { expiresAtMs: 600_000 }, 600_000],
  ["24 hours have passed", {}, 24 * 60 * 60_000],
])("a refused create is retried until %s; then the cursor may pass the create", (_what, expiry, endMs) => {
  const bridge = run();
  bridge.events(0, create("c1", { sequence: 1, ...expiry }));
  bridge.refused(endMs - 60_000, 1);
  expect(bridge.time(endMs)).toEqual(["post 1"]);
  bridge.refused(endMs, 1);
  expect(bridge.isSettled()).toBe(false);
  expect(bridge.time(endMs + 1)).toEqual(["skip 1: expired"]);
  expect(bridge.isSettled()).toBe(true);
});

test("a create that arrives late is posted before newer creates that wait", () => {
  const bridge = run();
  bridge.events(0, create("c1", 1), create("c1", 5));
  bridge.events(1, create("c1", 4));
  expect(bridge.posted(2, 1)).toEqual(["post 4"]);
  expect(bridge.posted(3, 4)).toEqual(["post 5"]);
});

// contract: kit-refused-update
test("a refused message.update is dropped, and the next update is applied", () => {
  const bridge = runPosted();
  bridge.events(1, update(2));
  bridge.events(1, update(3));
  expect(bridge.refused(2, 2)).toEqual(["skip 2: refused", "edit 3 of chat1"]);
  // An update in progress may be the only event that shows a question, so the cursor must not pass the update.
  expect(bridge.isSettled()).toBe(false);
  expect(bridge.refused(3, 3)).toEqual(["skip 3: refused"]);
  expect(bridge.isSettled()).toBe(true);
});

// time: controlled
test("a refused ephemeral is retried with growing waits until the chat accepts it, and does not hold the cursor", () => {
  const bridge = run();
  expect(bridge.events(0, ephemeral("c1", { sequence: 1, expiresAtMs: 60_000 }))).toEqual(["ephemeral 1"]);
  expect(bridge.isSettled()).toBe(false);
  expect([bridge.refused(0, 1), bridge.isSettled(), bridge.wakeAt()]).toEqual([[], true, 1_000]);
  expect(bridge.events(10, ephemeral("c1", 1))).toEqual(["skip 1: duplicate"]);
  expect(bridge.time(1_000)).toEqual(["ephemeral 1"]);
  expect([bridge.refused(1_000, 1), bridge.wakeAt()]).toEqual([[], 3_000]);
  expect(bridge.time(3_000)).toEqual(["ephemeral 1"]);
  expect([bridge.refused(3_000, 1, 20_000), bridge.wakeAt()]).toEqual([[], 23_000]);
  expect(bridge.time(23_000)).toEqual(["ephemeral 1"]);
  expect([bridge.done(23_000, 1), bridge.wakeAt()]).toEqual([[], undefined]);
});

// time: controlled
test.each([
  ["its expiresAt", 30_000],
  ["60 seconds, if it never expires", undefined],
])("a refused ephemeral is dropped after %s", (_what, expiresAtMs) => {
  const bridge = run();
  const endMs = expiresAtMs ?? 60_000;
  bridge.events(0, ephemeral("c1", { sequence: 1, ...(expiresAtMs !== undefined && { expiresAtMs }) }));
  expect(bridge.refused(0, 1, 3_600_000)).toEqual([]);
  expect(bridge.wakeAt()).toBe(endMs + 1);
  expect(bridge.time(endMs + 1)).toEqual(["skip 1: expired"]);
  expect(bridge.wakeAt()).toBeUndefined();
});

test("for events that arrive together, calls to the chat are made in sequence order", () => {
  const events = [ephemeral("c1", 3), create("c2", 2), create("c1", 1)];
  expect(run().events(0, ...events)).toEqual(["post 1", "post 2", "ephemeral 3"]);
});

test("a message.ephemeral is shown and never updated; a ping shows nothing", () => {
  const bridge = run();
  expect(bridge.events(0, ephemeral("c1", 1), ping(3))).toEqual(["skip 3: ping", "ephemeral 1"]);
  expect(bridge.done(1, 1)).toEqual([]);
  expect(bridge.events(2, update(2))).toEqual([]);
  expect(bridge.time(5_002)).toEqual(["skip 2: unmapped"]);
});

// time: controlled
// contract: kit-hold-update
test("an update of an unknown message is held for 5 seconds, and then ignored", () => {
  const bridge = run();
  bridge.events(0, update(2));
  // `isSettled()` is true, because the cursor may pass an update that waits for its create.
  expect([bridge.wakeAt(), bridge.isSettled()]).toEqual([5_000, true]);
  expect(bridge.time(4_999)).toEqual([]);
  expect(bridge.time(5_000)).toEqual(["skip 2: unmapped"]);
  bridge.events(5_001, create("c1", 1));
  expect(bridge.posted(5_002, 1)).toEqual([]);
});

// contract: kit-sequence-order
test("an update is skipped if a newer update was applied or is in progress, but not if the newer update was refused", () => {
  const bridge = runPosted();
  bridge.events(1, update(3));
  expect(bridge.events(2, update(2))).toEqual(["skip 2: superseded"]);
  bridge.done(2, 3);
  expect(bridge.events(3, { ...update(2), id: "evt_another" })).toEqual(["skip 2: superseded"]);
  bridge.events(4, update(9));
  bridge.refused(5, 9);
  expect(bridge.events(6, update(8))).toEqual(["edit 8 of chat1"]);
});

describe("the state is bounded", () => {
  test("an event beyond the limit of pending events is skipped, and a repeat is accepted once there is room", () => {
    const bridge = run({ open: 1 });
    bridge.events(0, create("c1", 1));
    const more = [create("c2", 2), update(3), ephemeral("c1", 4), ping(5)];
    const skipped = ["skip 2: full", "skip 3: full", "skip 4: full", "skip 5: ping"];
    expect(bridge.events(1, ...more)).toEqual(skipped);
    bridge.posted(2, 1);
    expect(bridge.events(3, create("c2", 2))).toEqual(["post 2"]);
  });

  test("an update replaces a waiting update even when the state is full", () => {
    const bridge = run({ open: 2 });
    bridge.events(0, create("c1", 1), update(2));
    expect(bridge.events(1, update(3))).toEqual(["skip 2: superseded"]);
  });

  test("while 60 channels have more waiting messages than there is room, there is still room for a message of another channel", () => {
    const bridge = run();
    let sequence = 0;
    for (let place = 0; place < 60; place++) {
      const events = Array.from({ length: 300 }, () => create(`c${place}`, ++sequence));
      const effects = bridge.events(0, ...events);
      expect(effects.at(-1)).toBe(`post ${sequence - 299}`);
    }
    expect(bridge.events(0, dm("u1", 90_000))).toEqual(["dm 90000"]);
  });

  test("a create is skipped if an earlier create of its channel was skipped, and so is an update of a skipped create", () => {
    const bridge = run({ open: 10, place: 1 });
    const events = [
      create("c1", 1),
      create("c1", 2),
      update({ sequence: 3, messageId: "msg_2" }),
      create("c2", 4),
    ];
    const skipped = ["skip 2: full", "skip 3: full"];
    expect(bridge.events(0, ...events)).toEqual([...skipped, "post 1", "post 4"]);
    bridge.posted(1, 1);
    expect(bridge.events(2, ...events.slice(1, 3))).toEqual(["skip 3: full", "post 2"]);
    bridge.posted(3, 2);
    expect(bridge.events(4, ...events.slice(2, 3))).toEqual(["edit 3 of chat2"]);
  });

  const upTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1);

  test("a repeated create is detected by its event id or its message id, even if only one of the ids is still kept", () => {
    const forgotMessage = runPosted({ messages: 1 }, ...upTo(99));
    expect(forgotMessage.events(1, create("c1", 1))).toEqual(["skip 1: duplicate"]);
    const forgotEvent = runPosted({ events: 1 }, 1, 2, 3);
    forgotEvent.events(0, ...upTo(100).map((i) => ping(i + 10)));
    expect(forgotEvent.events(1, create("c1", 1))).toEqual(["skip 1: duplicate"]);
  });

  test("a message whose id is removed from the state during an edit can still be updated", () => {
    const bridge = runPosted({ messages: 1 });
    bridge.events(0, update(2));
    for (const sequence of upTo(99).slice(2)) {
      bridge.events(0, create("c1", sequence));
      bridge.posted(0, sequence);
    }
    bridge.events(1, update(200));
    expect(bridge.time(5_001)).toEqual([]);
    expect(bridge.done(5_002, 2)).toEqual(["edit 200 of chat1"]);
  });

  const WRITES = fc.array(fc.tuple(fc.nat(60).map(String), fc.nat()), { maxLength: 300 });
  const write = (capacity: number, writes: readonly (readonly [string, number])[]) =>
    writes.reduce((memory, [key, value]) => remember(memory, key, value), emptyMemory<number>(capacity));

  test("a memory recalls the last value of each recently written key, and never an older value", () => {
    forAll(fc.integer({ min: 1, max: 100 }), WRITES, (capacity, writes) => {
      const memory = write(capacity, writes);
      for (const [key, value] of new Map(writes.slice(-capacity))) expect(recall(memory, key)).toBe(value);
      for (const [key, value] of new Map(writes)) expect([undefined, value]).toContain(recall(memory, key));
    });
  });

  test("a memory keeps only slightly more values than its capacity", () => {
    forMany(20, fc.integer({ min: 32, max: 1000 }), (capacity) => {
      const writes = upTo(3 * capacity).map((i) => [String(i), i] as const);
      const kept = write(capacity, writes).generations.reduce((sum, { size }) => sum + size, 0);
      expect(kept).toBeLessThanOrEqual(33 * Math.ceil(capacity / 32));
      expect(kept).toBeGreaterThanOrEqual(capacity);
    });
  });
});
