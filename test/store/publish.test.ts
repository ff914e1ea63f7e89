import * as fc from "fast-check";
import type { Published } from "../../core/ports/outbound-events";
import { asNumber } from "../../core/store/redis/reply";
import { randomUUID } from "node:crypto";
import { many } from "../harness/for-all";
import { addWorkspace, publication, sequenceOf, testClock, testStore, texts } from "../harness/store";
import { heldSequences } from "../harness/held-events";

const store = testStore();
const other = testStore(store);
const clock = testClock(store);

/** Returns the fields of a result that core returns to the game. */
function answered(published: Published): object {
  if (!("sequence" in published)) throw new Error(published.outcome);
  const { eventId, sequence, messageId, expiresAtMs } = published;
  return { eventId, sequence, messageId, expiresAtMs };
}

// time: controlled
// contract: envelope-sequence
test("even if the clock jumps, a sequence is the time in microseconds or the last sequence plus 1, whichever is higher", async () => {
  const start = clock.us;
  const step = fc.record({
    size: fc.integer({ min: 1, max: 8 }),
    aheadUs: fc.oneof(fc.integer({ min: -5, max: 5 }), fc.constantFrom(-3_600e6, 1e6, 43_200e6)),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
      const { id } = (await addWorkspace(store)).workspace;
      const expected: number[] = [];
      for (const { size, aheadUs } of steps) {
        await clock.set(start + aheadUs);
        const publish = (_: unknown, i: number) =>
          (i % 2 ? other : store).outboundEvents.publish(publication(id, i));
        const answers = await Promise.all(Array.from({ length: size }, publish));
        for (let i = 0; i < size; i++) expected.push(Math.max(start + aheadUs, (expected.at(-1) ?? 0) + 1));
        expect(answers.map(sequenceOf).toSorted((a, b) => a - b)).toEqual(expected.slice(-size));
      }
      expect(await heldSequences(store, id)).toEqual(expected);
    }),
    { numRuns: many(40) },
  );
});

// contract: envelope-sequence
test("the sequences of events that a core publishes together rise in the order of the events, and stay below 2^53", async () => {
  const { workspace } = await addWorkspace(store);
  const answers = await Promise.all(
    Array.from({ length: 250 }, (_, i) => store.outboundEvents.publish(publication(workspace.id, i))),
  );
  const sequences = answers.map(sequenceOf);
  expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
  expect(sequences.at(-1)).toBeLessThan(2 ** 53);
});

test("when several cores get events with the same idempotency key, only one event is published, and all calls return its result", async () => {
  const { id } = (await addWorkspace(store)).workspace;
  const expiresAtMs = Date.now() + 60_000;
  const fields = { idempotencyKey: "before", expiresAtMs };
  const before = await store.outboundEvents.publish(publication(id, "before", fields));
  const ids = { eventId: "evt_before", messageId: "msg_before" };
  expect(before).toMatchObject({ outcome: "published", ...ids, expiresAtMs });
  const keys = ["before", "a", "b", "c"];
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      (i % 3 ? store : other).outboundEvents.publish(
        publication(id, i, { idempotencyKey: keys[i % 4] ?? "", expiresAtMs: null }),
      ),
    ),
  );
  expect(answers.filter(({ outcome }) => outcome === "published")).toHaveLength(3);
  for (let key = 0; key < 4; key++) {
    const same = answers.filter((_, i) => i % 4 === key).map(answered);
    expect(same).toEqual(same.map(() => (key === 0 ? answered(before) : same[0])));
  }
  expect(await heldSequences(store, id)).toHaveLength(4);
});

// time: controlled
test("an idempotency key applies to one workspace for 24 hours, unless the event was rejected", async () => {
  const began = Date.now();
  const first = await addWorkspace(store);
  const second = await addWorkspace(store, { connected: false });
  const keyed = { idempotencyKey: "k" };
  expect(await store.outboundEvents.publish(publication(first.workspace.id, 1, keyed))).toMatchObject({
    outcome: "published",
  });
  expect(await store.outboundEvents.publish(publication(second.workspace.id, 2, keyed))).toEqual({
    outcome: "unknown-workspace",
  });
  await store.workspaces.replace({ ...second.workspace, connected: true }, second.version);
  expect(await store.outboundEvents.publish(publication(second.workspace.id, 3, keyed))).toMatchObject({
    outcome: "published",
    eventId: "evt_3",
  });
  const [key = ""] = await texts(store, "KEYS", `*:key:${first.workspace.id}:*`);
  const expiresAtMs = asNumber(await store.redis.command(key, ["PEXPIRETIME", key]));
  expect(expiresAtMs).toBeGreaterThanOrEqual(began + 86_400_000);
  expect(expiresAtMs).toBeLessThanOrEqual(Date.now() + 86_400_000);
});

test.each([
  ["a workspace that does not exist", undefined],
  ["a disconnected workspace", { connected: false }],
  ["a workspace of a native platform", { platform: "native" as const }],
])("an event for %s is neither published nor stored", async (_which, fields) => {
  const id = fields ? (await addWorkspace(store, fields)).workspace.id : randomUUID();
  expect(await store.outboundEvents.publish(publication(id, 1))).toEqual({ outcome: "unknown-workspace" });
  expect(await texts(store, "KEYS", `*:held:${id}`)).toEqual([]);
});
