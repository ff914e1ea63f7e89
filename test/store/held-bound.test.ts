import { asNumber } from "../../core/store/redis/reply";
import {
  addNeighbour,
  addWorkspace,
  keyOf,
  openTestStore,
  publication,
  testClock,
  testStore,
  type TestStore,
  readPage,
} from "../harness/store";

const BYTES_MAX = 200_000;
const DAY_US = 24 * 3_600 * 1_000_000;
const EVENT = { beforeSequence: `{"text":"${"x".repeat(950)}","sequence":`, afterSequence: "}" };

const store = testStore();
let small: TestStore;
// The store is opened before the clock stops, because opening a store loads the functions again.
beforeAll(async () => void (small = await openTestStore(store.redisUrl, { heldMaxBytes: BYTES_MAX })));
const clock = testClock(store);
afterAll(() => small.close());

const publish = (id: string, count: number, fields = {}) =>
  small.outboundEvents.publishAll(
    Array.from({ length: count }, (_, i) => publication(id, i, { envelope: EVENT, ...fields })),
  );
const outcomes = (published: readonly { readonly outcome: string }[]) => {
  const counts: Record<string, number> = {};
  for (const { outcome } of published) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
};
const stored = async (id: string) => {
  const key = keyOf(store, id, "held");
  return asNumber(await store.redis.command(key, ["MEMORY", "USAGE", key, "SAMPLES", "0"]));
};

// time: controlled
test("the bytes of a workspace's held events are bounded; at the bound, only events for that workspace are refused", async () => {
  const record = await addWorkspace(small);
  const neighbour = await addNeighbour(small, record);
  const { id } = record.workspace;
  const { published = 0, "held-full": refused = 0 } = outcomes([
    ...(await publish(id, 150)),
    ...(await publish(id, 150)),
  ]);
  expect(published + refused).toBe(300);
  expect(published).toBeGreaterThan(150);
  expect(refused).toBeGreaterThan(50);
  expect(await stored(id)).toBeLessThanOrEqual(BYTES_MAX * 1.05);
  expect(outcomes(await publish(neighbour.workspace.id, 20))).toEqual({ published: 20 });
  const [one] = await publish(id, 1);
  expect(one).toMatchObject({ outcome: "held-full", waiting: published });
  // All published events can be polled.
  const page = await readPage(small, { record, page: { start: { from: "oldest" }, limit: 100 } });
  expect(page).toMatchObject({ outcome: "page", hasMore: true });
  // The bridge polls, so the result no longer says that the bridge does not poll.
  expect((await publish(id, 1))[0]).toMatchObject({ outcome: "held-full", waiting: 0 });
});

// time: controlled
test("when held events have expired, a workspace at its bound gets new events again, even if its bridge never polls", async () => {
  const { workspace } = await addWorkspace(small);
  await publish(workspace.id, 200);
  await clock.pass(DAY_US / 2);
  expect(outcomes(await publish(workspace.id, 5))).toEqual({ "held-full": 5 });
  await clock.pass(DAY_US / 2 + 1_000_000);
  expect(outcomes(await publish(workspace.id, 100))).toEqual({ published: 100 });
});

// time: controlled
test("refused events are reported to operators once, and again only after five minutes without a refused event", async () => {
  const { workspace } = await addWorkspace(small);
  const { id } = workspace;
  const shard = small.keys.shard(id);
  const events = async () =>
    (await small.operatorOutbox.read(shard, undefined))
      .filter((event) => event.workspaceId === id)
      .map(({ type, reason }) => [type, reason]);
  await publish(id, 200);
  for (let minute = 0; minute < 10; minute++) {
    await clock.pass(60_000_000);
    await publish(id, 1);
  }
  const report = ["workspace.events_refused", "held-full"];
  expect(await events()).toEqual([report]);
  const { refusedAtMs } = await small.pollWatch.health(id);
  expect(refusedAtMs).toBe(Math.floor(clock.us / 1_000));
  await clock.pass(301_000_000);
  await publish(id, 1);
  expect(await events()).toEqual([report, report]);
});

// time: controlled
test("the idempotency key of a published event still returns its result while the workspace is at its bound", async () => {
  const { workspace } = await addWorkspace(small);
  const keyed = { idempotencyKey: "once" };
  const [first] = await publish(workspace.id, 1, keyed);
  await publish(workspace.id, 200);
  expect((await publish(workspace.id, 1, keyed))[0]).toEqual({ ...first, outcome: "repeated" });
  // The idempotency key of a refused event is not stored.
  expect((await publish(workspace.id, 1, { idempotencyKey: "late" }))[0]).toMatchObject({
    outcome: "held-full",
  });
  expect((await publish(workspace.id, 1, { idempotencyKey: "late" }))[0]).toMatchObject({
    outcome: "held-full",
  });
});
