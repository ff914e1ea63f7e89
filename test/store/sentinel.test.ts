import { StoreUnavailable } from "../../core/ports/store-faults";
import { connectRedis } from "../../core/store/redis/redis";
import { deliveryOf } from "../harness/push-queue";
import { killFollowed, untilFollowed, type RedisNode } from "../harness/redis-node";
import { startTestSentinel, type TestSentinel } from "../harness/redis-sentinel";
import {
  addWorkspace,
  openTestStore,
  prefixOf,
  publication,
  sequenceOf,
  type TestStore,
} from "../harness/store";
import { until } from "../harness/wait";

let watched: TestSentinel;
let store: TestStore;
/** The id of the workspace that all tests use, and the last sequence published to this workspace. */
let id: string;
let last: number;
beforeAll(async () => {
  watched = await startTestSentinel({
    password: "data-password",
    sentinelPassword: "sentinel-password",
    settings: ["appendfsync no"],
  });
  store = await openTestStore(watched.url);
  id = (await addWorkspace(store)).workspace.id;
});
beforeEach(async () => {
  await watched.untilWhole();
  last = await publish();
});
afterAll(async () => {
  await store.close();
  await watched.close();
});

async function servers(): Promise<readonly [master: RedisNode, replica: RedisNode]> {
  const master = await watched.master();
  const replica = watched.servers.find((server) => server !== master);
  if (replica === undefined) throw new Error("there is no replica");
  return [master, replica];
}

const publish = async () => sequenceOf(await store.outboundEvents.publish(publication(id, "event")));

/**
 * Returns the server that the test's own connection uses. After a failover, this connection and the store's connection
 * switch servers independently.
 */
async function used(): Promise<string> {
  const [answer] = await store.redis.everywhere(["PING"]);
  return answer?.server ?? "";
}

function unlessAway(error: unknown): undefined {
  if (!(error instanceof StoreUnavailable)) throw error;
}

async function untilUsed(server: RedisNode): Promise<void> {
  await until("the new master is used", async () => (await used().catch(unlessAway)) === server.name);
}

/** Waits until the test's own connection uses the new master, and the new master contains a newly published event. */
async function untilPublished(master: RedisNode): Promise<void> {
  await untilUsed(master);
  const held = `${prefixOf(store, id)}:held:${id}`;
  await until("the new master has a published event", async () => {
    const sequence = await publish().catch(unlessAway);
    if (sequence !== undefined) expect(sequence).toBeGreaterThan(last);
    const newest = await master.command("XREVRANGE", held, "+", "-", "COUNT", "1");
    return JSON.stringify(newest).startsWith(`[["${sequence}-0"`);
  });
}

async function untilWoken(): Promise<void> {
  const woken = new Set<number>();
  const stop = store.pushQueue.onWake((shard) => woken.add(shard));
  await until("a wake has arrived", async () => {
    await store.redis.command("", ["PUBLISH", `${store.keys.prefix(5)}:wake:push`, ""]).catch(unlessAway);
    return woken.has(5);
  });
  stop();
}

/** Adds a failing and a healthy workspace, and returns their ids and the counts of all workspaces by state. */
async function addListed() {
  const fields = { targetUrl: "https://bridge.example/" };
  const pushed = await Promise.all([addWorkspace(store, fields), addWorkspace(store, fields)]);
  const [failing = "", healthy = ""] = pushed.map(({ workspace }) => workspace.id);
  const event = { eventId: "evt_1", eventType: "message.create" };
  await store.deliveryLog.append(failing, deliveryOf(event, 1, "timeout"));
  await store.deliveryLog.append(healthy, deliveryOf(event, 1, "success"));
  const counts = await store.workspaceStates.count();
  expect(counts).toMatchObject({ failing: 1, healthy: 1, unused: 1 });
  return { ids: [failing, healthy], counts };
}

// contract: envelope-sequence
test("after a failover by an operator, the store uses the new master, sequences keep rising, wakes arrive, and the list of workspaces by state is the same", async () => {
  const [master, next] = await servers();
  const listed = await addListed();
  // Sets the last sequence as if the old master's clock had been an hour ahead.
  last = (Date.now() + 3_600_000) * 1_000;
  const prefix = prefixOf(store, id);
  await store.redis.command(prefix, ["HSET", `${prefix}:st:${id}`, "sequence", String(last)]);
  await untilFollowed(master, next);
  await watched.sentinels[0]?.command("SENTINEL", "FAILOVER", "events");
  await untilPublished(next);
  await untilWoken();
  expect(await store.workspaceStates.count()).toEqual(listed.counts);
  const page = await store.workspaceStates.list(2, undefined, new Set(["failing", "healthy"]));
  expect(page?.ids).toEqual(listed.ids);
});

test("after a master crashes, the store is unavailable until the replica takes over, and never uses the old master again", async () => {
  const [dead, next] = await servers();
  await killFollowed(dead, next);
  await expect(publish()).rejects.toBeInstanceOf(StoreUnavailable);
  await expect(store.probe()).rejects.toBeInstanceOf(StoreUnavailable);
  await untilPublished(next);
  await store.probe();
  await dead.start();
  await watched.untilWhole();
  await untilUsed(next);
});

test("when a master hangs, the store switches to the replica that takes over", async () => {
  const [hung, next] = await servers();
  await untilFollowed(hung, next);
  hung.pause();
  try {
    await untilPublished(next);
  } finally {
    hung.resume();
  }
  await watched.untilWhole();
  await untilUsed(next);
});

test("a connection reports that the sentinels do not know the name of the master, and opens as soon as they know it", async () => {
  const errors: string[] = [];
  let isOpen = false;
  const url = watched.url.replace("/events?", "/nobody?");
  const opening = connectRedis({ url, onError: ({ message }) => errors.push(message) }).then((redis) => {
    isOpen = true;
    return redis;
  });
  await until("the unknown name is reported", () => errors.some((each) => each.includes("No such master")));
  expect(isOpen).toBe(false);
  const { port } = await watched.master();
  for (const sentinel of watched.sentinels) {
    await sentinel.command("SENTINEL", "MONITOR", "nobody", "127.0.0.1", port, 2);
    await sentinel.command("SENTINEL", "SET", "nobody", "auth-pass", "data-password");
  }
  await (await opening).close();
});

// This must be the last test, because it kills the sentinels.
// time: ordering
test("the store keeps using a healthy master while no sentinel answers", async () => {
  const master = await watched.master();
  for (const sentinel of watched.sentinels) await sentinel.kill();
  // The store queries the sentinels every second, so it queries them at least twice before the time `asked`.
  const asked = performance.now() + 2_500;
  await until(
    "the sentinels were queried in vain",
    async () => (await publish()) > last && performance.now() > asked,
  );
  expect(await used()).toBe(master.name);
});
