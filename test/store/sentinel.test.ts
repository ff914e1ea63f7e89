import { randomUUID } from "node:crypto";
import { StoreUnavailable } from "../../core/ports/store-unavailable";
import { connectRedis } from "../../core/store/redis";
import type { RedisNode } from "../harness/redis-node";
import { startTestSentinel, type TestSentinel } from "../harness/redis-sentinel";
import { addWorkspace, openTestStore, publication, type TestStore } from "../harness/store";
import { until } from "../harness/wait";

const FAILOVER_MS = 60_000;

let watched: TestSentinel;
let store: TestStore;
beforeAll(async () => {
  watched = await startTestSentinel({ password: "data-password", sentinelPassword: "sentinel-password" });
  store = await openTestStore(watched.url);
}, 90_000);
afterAll(async () => {
  await store.close();
  await watched.close();
});

async function replica(): Promise<RedisNode> {
  const master = await watched.master();
  const [other] = watched.servers.filter((server) => server !== master);
  if (other === undefined) throw new Error("there is no replica");
  return other;
}

const isWell = (): Promise<boolean> =>
  store.probe().then(
    () => true,
    () => false,
  );

/** Publishes an event and answers its sequence. */
async function publishTo(id: string): Promise<number> {
  const published = await store.outboundEvents.publish(publication(id, randomUUID()));
  return published.outcome === "published" ? published.sequence : 0;
}

/** The same, as soon as the store has found a master. */
function publishAtLast(id: string): Promise<number> {
  return until("it is published", () => publishTo(id).catch(unlessAway), FAILOVER_MS);
}

function unlessAway(error: unknown): undefined {
  if (!(error instanceof StoreUnavailable)) throw error;
}

/** The server that commands go to, by a connection beside the store's own: each of them follows for itself. */
async function used(): Promise<string> {
  const [answer] = await store.redis.everywhere(["PING"]);
  return answer?.server ?? "";
}

/** The same, as soon as a master is found. */
function usedAtLast(): Promise<string> {
  return until("a master is used", () => used().catch(unlessAway), FAILOVER_MS);
}

test("what is written goes to the master that the sentinels name", async () => {
  const { workspace } = await addWorkspace(store);
  expect(await publishTo(workspace.id)).toBeGreaterThan(0);
  expect(await used()).toBe((await watched.master()).name);
});

test("a wake comes over the master", async () => {
  const woken = new Set<number>();
  const stop = store.pushQueue.onWake((shard) => woken.add(shard));
  await until("it comes", async () => {
    await store.redis.command("", ["PUBLISH", `${store.keys.prefix(5)}:wake:push`, ""]);
    return woken.has(5);
  });
  stop();
});

// contract: envelope-sequence
test("a failover that an operator orders is followed, sequences rise and wakes come again", async () => {
  const { workspace } = await addWorkspace(store);
  const ahead = (Date.now() + 3_600_000) * 1_000;
  const prefix = store.keys.prefix(store.keys.shard(workspace.id));
  const state = `${prefix}:st:${workspace.id}`;
  await store.redis.command(prefix, ["HSET", state, "sequence", String(ahead)]);
  const next = await replica();
  await until("the replica has it", async () => {
    const offsets = [
      await next.info("slave_repl_offset"),
      await (await watched.master()).info("master_repl_offset"),
    ];
    return offsets[0] === offsets[1];
  });
  await watched.sentinels[0]?.command("SENTINEL", "FAILOVER", "events");
  await until(
    "the store uses the new master",
    async () => (await used().catch(() => "")) === next.name,
    FAILOVER_MS,
  );
  const sequence = await until(
    "what is published is at the new master",
    async () => {
      const published = await publishTo(workspace.id).catch(unlessAway);
      return (await next.command("HGET", state, "sequence")) === String(published) && published;
    },
    FAILOVER_MS,
  );
  expect(sequence).toBeGreaterThan(ahead);
  const woken = new Set<number>();
  const stop = store.pushQueue.onWake((shard) => woken.add(shard));
  await until("wakes come", async () => {
    await store.redis.command("", ["PUBLISH", `${prefix}:wake:push`, ""]).catch(unlessAway);
    return woken.size > 0;
  });
  stop();
  await watched.untilWhole();
}, 120_000);

test("a master that dies is out of reach until its replica takes over, and is not written to when it is back", async () => {
  const { workspace } = await addWorkspace(store);
  const before = await publishTo(workspace.id);
  const [dead, next] = [await watched.master(), await replica()];
  await until("the replica has it", async () => {
    return (await next.info("slave_repl_offset")) === (await dead.info("master_repl_offset"));
  });
  await dead.kill();
  const killedAt = performance.now();
  await expect(publishTo(workspace.id)).rejects.toBeInstanceOf(StoreUnavailable);
  expect(await isWell()).toBe(false);
  await until("the store is well again", isWell, FAILOVER_MS);
  process.stdout.write(
    `sentinel: well again ${Math.round(performance.now() - killedAt)} ms after the master was killed\n`,
  );
  expect(await publishAtLast(workspace.id)).toBeGreaterThan(before);
  await dead.start();
  await watched.untilWhole();
  expect(await usedAtLast()).toBe(next.name);
}, 120_000);

test("a master that hangs is left for the one that takes over", async () => {
  const { workspace } = await addWorkspace(store);
  await watched.untilWhole();
  const [hung, next] = [await watched.master(), await replica()];
  hung.pause();
  try {
    await until(
      "the store uses the new master",
      async () => (await used().catch(() => "")) === next.name,
      FAILOVER_MS,
    );
    expect(await publishAtLast(workspace.id)).toBeGreaterThan(0);
  } finally {
    hung.resume();
  }
  await watched.untilWhole();
  expect(await usedAtLast()).toBe(next.name);
}, 120_000);

test("sentinels that are gone are no reason to leave a master that is well", async () => {
  const { workspace } = await addWorkspace(store);
  const master = await watched.master();
  for (const sentinel of watched.sentinels) await sentinel.kill();
  const until2Looks = performance.now() + 2_500;
  await until(
    "it goes on",
    async () => (await publishTo(workspace.id)) > 0 && performance.now() > until2Looks,
  );
  expect(await used()).toBe(master.name);
  for (const sentinel of watched.sentinels) await sentinel.start();
  await watched.untilWhole();
}, 120_000);

test("a name that the sentinels do not know is told of, and waited for", async () => {
  const errors: string[] = [];
  let isOpen = false;
  const url = watched.url.replace("/events?", "/nobody?");
  const opening = connectRedis({ url, onError: ({ message }) => errors.push(message) }).then((redis) => {
    isOpen = true;
    return redis;
  });
  await until("it is told of", () => errors.some((each) => each.includes("No such master")));
  expect(isOpen).toBe(false);
  const { port } = await watched.master();
  for (const sentinel of watched.sentinels) {
    await sentinel.command("SENTINEL", "MONITOR", "nobody", "127.0.0.1", port, 2);
    await sentinel.command("SENTINEL", "SET", "nobody", "auth-pass", "data-password");
  }
  await (await opening).close();
}, 60_000);
