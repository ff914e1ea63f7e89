import type { Delivery } from "../../core/domain/delivery";
import { addWorkspace, keyOf, testStore } from "../harness/store";

const WEEK_SECONDS = 7 * 24 * 3_600;

const store = testStore();

const delivery = (attempt: number): Delivery => ({
  eventId: "evt_1",
  eventType: "message.create",
  attempt,
  result: "timeout",
  status: undefined,
  latencyMs: 5_000,
  address: undefined,
});

// time: controlled
test("the log is of the last thousand deliveries, newest first, for seven days", async () => {
  const { workspace } = await addWorkspace(store);
  const attempts = Array.from({ length: 1_300 }, (_, i) => i + 1);
  const asked = Date.now();
  await Promise.all(attempts.map((attempt) => store.deliveryLog.append(workspace.id, delivery(attempt))));
  const log = await store.deliveryLog.read(workspace.id, 2_000, undefined);
  // It is trimmed by whole nodes of a hundred.
  expect(log.length).toBeGreaterThanOrEqual(1_000);
  expect(log.length).toBeLessThanOrEqual(1_100);
  expect(log.map(({ attempt }) => attempt)).toEqual(log.map((_, i) => 1_300 - i));
  expect(log[0]).toMatchObject(delivery(1_300));
  const key = keyOf(store, workspace.id, "log");
  const expiresAtMs = Number(await store.redis.command(key, ["PEXPIRETIME", key]));
  expect(expiresAtMs).toBeGreaterThanOrEqual(asked + WEEK_SECONDS * 1_000);
  expect(expiresAtMs).toBeLessThanOrEqual(Date.now() + (WEEK_SECONDS + 3_600) * 1_000);
});

// time: controlled
test("deliveries older than seven days are not answered, even while Redis still has them", async () => {
  const { workspace } = await addWorkspace(store);
  const old = Date.now() - (WEEK_SECONDS + 60) * 1_000;
  const line = JSON.stringify(["evt_0", "ping", 1, "success", 204, 1, "127.0.0.1"]);
  await store.redis.command("", ["XADD", keyOf(store, workspace.id, "log"), `${old}-0`, "d", line]);
  await store.deliveryLog.append(workspace.id, delivery(1));
  expect((await store.deliveryLog.read(workspace.id, 10, undefined)).map(({ eventId }) => eventId)).toEqual([
    "evt_1",
  ]);
});
