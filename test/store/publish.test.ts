import * as fc from "fast-check";
import type { Published } from "../../core/ports/outbound-events";
import { asNumber } from "../../core/store/reply";
import { startTestRedis, type TestRedis } from "../harness/redis";
import {
  addWorkspace,
  keyOf,
  openTestStore,
  publication,
  redisNowUs,
  texts,
  type TestStore,
} from "../harness/store";
import { heldSequences } from "../harness/held-events";

jest.setTimeout(120_000);

let redis: TestRedis;
let store: TestStore;
let other: TestStore;
beforeAll(async () => {
  // Many writes, one after the other: how long the disk takes over each is nothing to what is tested.
  redis = await startTestRedis(["--appendfsync", "no"]);
  store = await openTestStore(redis.url);
  other = await openTestStore(redis.url);
});
afterAll(async () => {
  await store.close();
  await other.close();
  await redis.close();
});

function sequenceOf(published: Published): number {
  if (published.outcome === "unknown-workspace") throw new Error(published.outcome);
  return published.sequence;
}

/** What a game service is answered. */
function answered(published: Published): object {
  if (published.outcome === "unknown-workspace") throw new Error(published.outcome);
  const { eventId, sequence, messageId, expiresAtMs } = published;
  return { eventId, sequence, messageId, expiresAtMs };
}

// contract: envelope-sequence
test("sequences are of the microsecond clock and rise in the order of publication", async () => {
  const { workspace } = await addWorkspace(store);
  const before = await redisNowUs(store);
  const answers = await Promise.all(
    Array.from({ length: 250 }, (_, i) => store.outboundEvents.publish(publication(workspace.id, i))),
  );
  const after = await redisNowUs(store);
  const sequences = answers.map(sequenceOf);
  expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
  expect(sequences[0]).toBeGreaterThanOrEqual(before);
  // A batch is stamped together: its events are told apart by one each.
  expect(sequences.at(-1)).toBeLessThanOrEqual(after + 250);
  expect(sequences.at(-1)).toBeLessThan(2 ** 53);
});

// contract: envelope-sequence
test("sequences rise strictly when the clock has stepped back behind the last one", async () => {
  const size = fc.integer({ min: 1, max: 8 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ size, aheadSeconds: fc.constantFrom(undefined, 1, 3_600, 86_400 * 30) }), {
        minLength: 1,
        maxLength: 6,
      }),
      async (batches) => {
        const { workspace } = await addWorkspace(store);
        const state = keyOf(store, workspace.id, "st");
        const sequences: number[] = [];
        for (const { size, aheadSeconds } of batches) {
          // What the last one would be, had it been published before the clock stepped back.
          const last = Math.max(sequences.at(-1) ?? 0, (await redisNowUs(store)) + (aheadSeconds ?? 0) * 1e6);
          if (aheadSeconds !== undefined && last > (sequences.at(-1) ?? 0)) {
            await store.redis.command(state, ["HSET", state, "sequence", String(last)]);
            sequences.push(last);
          }
          const answers = await Promise.all(
            Array.from({ length: size }, (_, i) =>
              (i % 2 ? other : store).outboundEvents.publish(publication(workspace.id, i)),
            ),
          );
          sequences.push(...answers.map(sequenceOf).toSorted((a, b) => a - b));
        }
        for (const [i, sequence] of sequences.entries()) {
          expect(sequence).toBeGreaterThan(sequences[i - 1] ?? 0);
        }
        const held = await heldSequences(store, workspace.id);
        expect(held).toEqual(held.toSorted((a, b) => a - b));
        expect(held).toHaveLength(batches.reduce((sum, { size }) => sum + size, 0));
      },
    ),
    { numRuns: 30 },
  );
});

test("a repeated idempotency key is answered as the first was and publishes nothing", async () => {
  const { workspace } = await addWorkspace(store);
  const expiresAtMs = Date.now() + 60_000;
  const sent = Array.from({ length: 20 }, (_, i) => ({
    core: i % 2 ? store : other,
    event: publication(workspace.id, i, {
      idempotencyKey: "once",
      expiresAtMs: i === 0 ? expiresAtMs : null,
    }),
  }));
  const first = await store.outboundEvents.publish(
    publication(workspace.id, "first", { idempotencyKey: "once", expiresAtMs }),
  );
  const answers = await Promise.all(sent.map(({ core, event }) => core.outboundEvents.publish(event)));
  expect(first).toMatchObject({
    outcome: "published",
    eventId: "evt_first",
    messageId: "msg_first",
    expiresAtMs,
  });
  for (const answer of answers) {
    expect(answer.outcome).toBe("repeated");
    expect(answered(answer)).toEqual(answered(first));
  }
  expect(await heldSequences(store, workspace.id)).toEqual([sequenceOf(first)]);
});

test("of events that come together under one key, at several cores or in one batch, one is published", async () => {
  const { workspace } = await addWorkspace(store);
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      (i % 3 ? store : other).outboundEvents.publish(
        publication(workspace.id, i, { idempotencyKey: `key-${i % 6}` }),
      ),
    ),
  );
  expect(answers.filter(({ outcome }) => outcome === "published")).toHaveLength(6);
  for (let key = 0; key < 6; key++) {
    const [first, ...others] = answers.filter((_, i) => i % 6 === key).map(answered);
    for (const other of others) expect(other).toEqual(first);
  }
});

test("an idempotency key is the workspace's own, is remembered for 24 hours, and never for what was refused", async () => {
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
  const left = asNumber(await store.redis.command(key, ["TTL", key]));
  expect(left).toBeGreaterThan(86_400 - 60);
  expect(left).toBeLessThanOrEqual(86_400);
});

test.each([
  ["no workspace at all", undefined],
  ["a disconnected one", { connected: false }],
  ["one of a native platform", { platform: "native" as const }],
])("for %s nothing is published or kept", async (_which, fields) => {
  const id =
    fields === undefined
      ? "00000000-0000-4000-8000-000000000000"
      : (await addWorkspace(store, fields)).workspace.id;
  expect(await store.outboundEvents.publish(publication(id, 1))).toEqual({ outcome: "unknown-workspace" });
  expect((await texts(store, "KEYS", `*${id}*`)).filter((key) => /:(full|index|block):/.test(key))).toEqual(
    [],
  );
});
