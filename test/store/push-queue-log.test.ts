import type { Delivery } from "../../core/domain/delivery";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { addWorkspace, keyOf, openTestStore, type TestStore } from "../harness/store";

jest.setTimeout(120_000);

const WEEK_SECONDS = 7 * 24 * 3_600;

let redis: TestRedis;
let store: TestStore;
beforeAll(async () => {
  // Many writes, one after the other: how long the disk takes over each is nothing to what is tested.
  redis = await startTestRedis(["--appendfsync", "no"]);
  store = await openTestStore(redis.url);
});
afterAll(async () => {
  await store.close();
  await redis.close();
});

const delivery = (attempt: number): Delivery => ({
  eventId: "evt_1",
  eventType: "message.create",
  attempt,
  result: "timeout",
  status: undefined,
  latencyMs: 5_000,
  address: undefined,
});

test("the log is of the last thousand deliveries, newest first, for seven days", async () => {
  const { workspace } = await addWorkspace(store);
  for (let i = 1; i <= 1_300; i++) await store.deliveryLog.append(workspace.id, delivery(i));
  const log = await store.deliveryLog.read(workspace.id, 2_000, undefined);
  // It is trimmed by whole nodes of a hundred.
  expect(log.length).toBeGreaterThanOrEqual(1_000);
  expect(log.length).toBeLessThanOrEqual(1_100);
  expect(log.map(({ attempt }) => attempt)).toEqual(log.map((_, i) => 1_300 - i));
  expect(log[0]).toMatchObject(delivery(1_300));
  const seconds = Number(await store.redis.command("", ["TTL", keyOf(store, workspace.id, "log")]));
  expect(seconds).toBeGreaterThanOrEqual(WEEK_SECONDS);
  expect(seconds).toBeLessThanOrEqual(WEEK_SECONDS + 3_600);
});

test("what is older than seven days is not answered, though it may still be there", async () => {
  const { workspace } = await addWorkspace(store);
  const old = Date.now() - (WEEK_SECONDS + 60) * 1_000;
  const line = JSON.stringify(["evt_0", "ping", 1, "success", 204, 1, "127.0.0.1"]);
  await store.redis.command("", ["XADD", keyOf(store, workspace.id, "log"), `${old}-0`, "d", line]);
  await store.deliveryLog.append(workspace.id, delivery(1));
  expect((await store.deliveryLog.read(workspace.id, 10, undefined)).map(({ eventId }) => eventId)).toEqual([
    "evt_1",
  ]);
});
