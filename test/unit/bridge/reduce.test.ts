import * as fc from "fast-check";
import { emptyMemory, recall, remember } from "../../../bridge/reduce-memory";
import { create, ephemeral, ping, run, runPosted, update } from "./reduce-events";

describe("each event", () => {
  test("effects come in the order of the sequences", () => {
    const events = [ephemeral("c1", 3), create("c2", 2), create("c1", 1)];
    expect(run().events(0, ...events)).toEqual(["post 1", "post 2", "ephemeral 3"]);
  });

  test("a message.ephemeral is shown to its user and never updated; a ping shows nothing", () => {
    const bridge = run();
    expect(bridge.events(0, ephemeral("c1", 1), ping(3))).toEqual(["skip 3: ping", "ephemeral 1"]);
    expect(bridge.done(1, 1)).toEqual([]);
    expect(bridge.events(2, update(2))).toEqual([]);
    expect(bridge.time(5_002)).toEqual(["skip 2: unmapped"]);
  });
});

// time: controlled
// contract: kit-hold-update
describe("an update without a mapping", () => {
  test("is held, and ignored after 5 seconds", () => {
    const bridge = run();
    bridge.events(0, update(2));
    // It may be passed by the cursor.
    expect([bridge.wakeAt(), bridge.isSettled()]).toEqual([5_000, true]);
    expect(bridge.time(4_999)).toEqual([]);
    expect(bridge.time(5_000)).toEqual(["skip 2: unmapped"]);
    bridge.events(5_001, create("c1", 1));
    expect(bridge.posted(5_002, 1)).toEqual([]);
  });
});

// contract: kit-sequence-order
test("an update older than one that is applied, or being applied, is skipped; a refused one does not count", () => {
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
  test("past its limit an event is not taken; with room again it is", () => {
    const bridge = run({ open: 1 });
    bridge.events(0, create("c1", 1));
    const more = [create("c2", 2), update(3), ephemeral("c1", 4), ping(5)];
    const skipped = ["skip 2: full", "skip 3: full", "skip 4: full", "skip 5: ping"];
    expect(bridge.events(1, ...more)).toEqual(skipped);
    bridge.posted(2, 1);
    expect(bridge.events(3, create("c2", 2))).toEqual(["post 2"]);
  });

  test("an update replaces one that waits even when the state is full", () => {
    const bridge = run({ open: 2 });
    bridge.events(0, create("c1", 1), update(2));
    expect(bridge.events(1, update(3))).toEqual(["skip 2: superseded"]);
  });

  const upTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1);

  test("a create is known by its event's id when its message is forgotten, and the other way round", () => {
    const forgotMessage = runPosted({ messages: 1 }, ...upTo(99));
    expect(forgotMessage.events(1, create("c1", 1))).toEqual(["skip 1: duplicate"]);
    const forgotEvent = runPosted({ events: 1 }, 1, 2, 3);
    forgotEvent.events(0, ...upTo(100).map((i) => ping(i + 10)));
    expect(forgotEvent.events(1, create("c1", 1))).toEqual(["skip 1: duplicate"]);
  });

  test("a message that is forgotten while it is edited can be updated", () => {
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

  test("a memory recalls the last value of every key among its last writes, and no older value", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), WRITES, (capacity, writes) => {
        const memory = write(capacity, writes);
        for (const [key, value] of new Map(writes.slice(-capacity))) expect(recall(memory, key)).toBe(value);
        for (const [key, value] of new Map(writes)) expect([undefined, value]).toContain(recall(memory, key));
      }),
    );
  });

  test("a memory keeps little more than its capacity", () => {
    fc.assert(
      fc.property(fc.integer({ min: 32, max: 1000 }), (capacity) => {
        const writes = upTo(3 * capacity).map((i) => [String(i), i] as const);
        const kept = write(capacity, writes).generations.reduce((sum, { size }) => sum + size, 0);
        expect(kept).toBeLessThanOrEqual(33 * Math.ceil(capacity / 32));
        expect(kept).toBeGreaterThanOrEqual(capacity);
      }),
      { numRuns: 20 },
    );
  });
});
