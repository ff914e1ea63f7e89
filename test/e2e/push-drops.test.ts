import { DeliveryResult } from "../../proto/gen/chatbridge/v1/workspace";
import { sayNothing, status } from "../harness/behaviours";
import { type PushedBridge, sharedPush } from "../harness/push";
import { textEvent } from "../harness/service";
import { openTestStore, texts, type TestStore } from "../harness/store";
import { until } from "../harness/wait";

const { STATUS, TIMEOUT, EXPIRED, DISCONNECTED, POLLS } = DeliveryResult;
const ONE_SECOND = { seconds: 1, nanos: 0 };

const push = sharedPush();
let store: TestStore;
beforeAll(async () => {
  store = await openTestStore(push.service.redis.url);
});
afterAll(async () => {
  await store.close();
});

/** Why core said that it gave so many events of a workspace up, one for each. */
async function reasons({ workspaceId }: PushedBridge, count: number): Promise<readonly unknown[]> {
  return (await push.givenUp(workspaceId, count)).map(({ reason }) => reason);
}

const CHANGES = [
  [
    "the workspace is disconnected",
    "disconnected",
    DISCONNECTED,
    (id: string) => push.workspaces.disconnect(id),
  ],
  ["the target URL is cleared", "polls", POLLS, (id: string) => push.workspaces.setTargetUrl(id, "")],
] as const;

describe("an event that failed is dropped, and the log says why, when", () => {
  test.each(CHANGES)("%s: %s", async (_when, reason, result, change) => {
    const bridge = await push.bridge();
    bridge.behave(status(500));
    await push.publish(textEvent(bridge.workspaceId, "x"));
    // The last attempt is due 3 s later: time enough for the change.
    await push.logged(bridge.workspaceId, 2);
    await change(bridge.workspaceId);
    const log = await push.logged(bridge.workspaceId, 3);
    expect(log).toMatchObject([
      { attempt: 1, result: STATUS, status: 500 },
      { attempt: 2, result: STATUS, status: 500 },
      { attempt: 2, result, status: 0, address: "" },
    ]);
    expect(await reasons(bridge, 1)).toEqual([reason]);
    expect(bridge.requests).toHaveLength(2);
  });

  test("the workspace is deleted: disconnected, and nothing of it is left", async () => {
    const bridge = await push.bridge();
    bridge.behave(status(500));
    await push.publish(textEvent(bridge.workspaceId, "x"));
    await push.logged(bridge.workspaceId, 2);
    await push.workspaces.delete(bridge.workspaceId);
    expect(await reasons(bridge, 1)).toEqual(["disconnected"]);
    expect(bridge.requests).toHaveLength(2);
    await queuesAreEmpty();
    expect(await texts(store, "KEYS", `*${bridge.workspaceId}*`)).toEqual([]);
  });

  test("the event has expired", async () => {
    const bridge = await push.bridge();
    bridge.behave(status(500));
    // It is older when its third attempt is due, 4 s after the first one failed, and younger at the second.
    await push.publish({ ...textEvent(bridge.workspaceId, "x"), lifetime: { seconds: 3 } });
    const log = await push.logged(bridge.workspaceId, 3);
    expect(log).toMatchObject([
      { attempt: 1, result: STATUS },
      { attempt: 2, result: STATUS },
      { attempt: 2, result: EXPIRED },
    ]);
    expect(await reasons(bridge, 1)).toEqual(["expired"]);
    expect(bridge.requests).toHaveLength(2);
  });
});

describe("an event that was never tried is dropped, and the log says why, when", () => {
  test("its workspace is disconnected, it is deleted, or it has expired", async () => {
    const [disconnected, deleted, expired] = await Promise.all([push.bridge(), push.bridge(), push.bridge()]);
    const bridges = [disconnected, deleted, expired];
    await Promise.all(
      bridges.map(async (bridge) => {
        bridge.behave(sayNothing());
        // As many as are in flight at once, and four that wait.
        const events = Array.from({ length: 20 }, (_, i) => textEvent(bridge.workspaceId, String(i)));
        await push.publish(
          ...events.map((event, i) =>
            bridge === expired && i >= 16 ? { ...event, lifetime: ONE_SECOND } : event,
          ),
        );
        await bridge.waitFor(16);
      }),
    );
    await push.workspaces.disconnect(disconnected.workspaceId);
    await push.workspaces.delete(deleted.workspaceId);
    const untried = async ({ workspaceId }: PushedBridge, result: DeliveryResult) =>
      (await push.deliveries(workspaceId)).filter((entry) => entry.attempt === 0 && entry.result === result);
    await until(
      "those that waited are dropped",
      async () =>
        (await untried(disconnected, DISCONNECTED)).length === 4 &&
        (await untried(expired, EXPIRED)).length === 4,
      15_000,
    );
    expect(await reasons(deleted, 20)).toEqual(Array.from({ length: 20 }, () => "disconnected"));
    // What was under way at the change was finished, and logged where there is a log.
    const timeouts = (await push.deliveries(disconnected.workspaceId)).filter(
      ({ result }) => result === TIMEOUT,
    );
    expect(timeouts).toHaveLength(16);
    expect([disconnected.requests.length, deleted.requests.length]).toEqual([16, 16]);
    expect(expired.requests.filter(({ attempt }) => attempt === 1)).toHaveLength(16);
  }, 30_000);
});

test("nothing stays in the queue of what was delivered or dropped", async () => {
  const bridge = await push.bridge();
  bridge.behave(({ attempt }) => status(attempt === 1 ? 500 : 204));
  await push.publish(...Array.from({ length: 10 }, (_, i) => textEvent(bridge.workspaceId, String(i))));
  await push.logged(bridge.workspaceId, 20);
  await queuesAreEmpty();
}, 30_000);

/** Waits until no shard has anything queued, nor attempts noted of anything. */
async function queuesAreEmpty(): Promise<void> {
  await until(
    "the queues are empty",
    async () => {
      const queued = await Promise.all(
        (await texts(store, "KEYS", "cb:{s*}:push")).map((key) => store.redis.command(key, ["XLEN", key])),
      );
      return (
        queued.every((length) => length === 0) && (await texts(store, "KEYS", "cb:{s*}:tries")).length === 0
      );
    },
    20_000,
  );
}
