import { createServer, type AddressInfo, type Server } from "node:net";
import { once } from "node:events";
import { inspect } from "node:util";
import { createClient } from "@redis/client";
import { startTestCluster, type TestCluster } from "../../../../test/harness/redis-cluster";
import { killFollowed } from "../../../../test/harness/redis-node";
import { startTestRedis, type TestRedis } from "../../../../test/harness/redis";
import { freePort } from "../../../../test/harness/processes";
import { HANG_MS, until } from "../../../../test/harness/wait";
import { redisStore } from "../../redis-store";
import type { GameStore } from "../../store";
import { documentOf, testStoreContract } from "../harness/store-contract";

const PASSWORD = "pass/word@1";
const CLUSTER_PASSWORD = "cluster-password";

let redis: TestRedis;
let url: string;
beforeAll(async () => {
  const port = await freePort();
  // These tests do not depend on the disk, so writes need not wait for the disk.
  redis = await startTestRedis([
    "--appendfsync",
    "no",
    "--port",
    String(port),
    "--user",
    "game",
    "on",
    `>${PASSWORD}`,
    "~*",
    "+@all",
  ]);
  url = `redis://game:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`;
});
afterAll(() => redis.close());

const opened: GameStore[] = [];
afterEach(() => Promise.all(opened.splice(0).map(async (store) => store.close?.())));

function openStore(to: Parameters<typeof redisStore>[0], game = "dice", prefix?: string): GameStore {
  const store = redisStore(to, { game, ...(prefix === undefined ? {} : { prefix }) });
  opened.push(store);
  return store;
}

const save = (store: GameStore, id: string, version: number, wakeAtMs?: number) =>
  store.save(id, { version, document: documentOf(version) }, wakeAtMs);

/** Sends a command to the server, and returns its reply. */
async function command(...words: readonly string[]): Promise<unknown> {
  const client = createClient({ url, RESP: 2 });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await client.sendCommand([...words]);
  } finally {
    client.destroy();
  }
}

/** Returns the error of a call as text, with everything that a log could show. */
const errorText = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "no error",
    (error: unknown) => inspect(error, { depth: 10, showHidden: true }),
  );

describe("every store", () => testStoreContract((name) => redisStore(url, { game: name })));

describe("one Redis", () => {
  test("games and prefixes are separate", async () => {
    const stores = [
      openStore(url, "a"),
      openStore(url, "b"),
      openStore(url, "a", "other"),
      openStore(url, "a:1"),
      openStore(url, "}{"),
    ];
    for (const [i, store] of stores.entries()) expect(await save(store, "w", 1, i)).toBe(true);
    for (const [i, store] of stores.entries())
      expect(await store.wakes()).toEqual([{ workspaceId: "w", atMs: i }]);
    await stores[0]?.remove("w");
    expect(await stores[0]?.load("w")).toBeUndefined();
    for (const store of stores.slice(1))
      expect(await store.load("w")).toEqual({ version: 1, document: documentOf(1) });
    expect(() => openStore(url, "a", "{a}")).toThrow("choose another prefix");
  });

  test("the store works after Redis has lost its scripts", async () => {
    const store = openStore(url, "scripts");
    expect(await save(store, "w", 1, 1)).toBe(true);
    await command("SCRIPT", "FLUSH");
    expect(await save(store, "w", 2, 2)).toBe(true);
    await command("SCRIPT", "FLUSH");
    await store.remove("w");
    expect(await store.wakes()).toEqual([]);
  });

  test("`redisStore` accepts the options of a Redis client instead of a URL", async () => {
    const { hostname, port, username } = new URL(url);
    const store = openStore(
      { socket: { host: hostname, port: Number(port) }, username, password: PASSWORD },
      "options",
    );
    expect(await save(store, "w", 1)).toBe(true);
    expect(await openStore(url, "options").load("w")).toEqual({ version: 1, document: documentOf(1) });
  });

  test("calls reject during an outage, and succeed after it", async () => {
    const store = openStore(url, "outage");
    expect(await save(store, "w", 1, 1)).toBe(true);
    await redis.kill();
    const began = performance.now();
    for (const call of [
      () => save(store, "w", 2),
      () => store.load("w"),
      () => store.wakes(),
      () => store.remove("w"),
    ]) {
      await expect(call()).rejects.toThrow(/^Redis is unavailable: /);
    }
    expect(performance.now() - began).toBeLessThan(HANG_MS);
    const early = openStore(url, "outage");
    await expect(early.load("w")).rejects.toThrow(/^Redis is unavailable: connect ECONNREFUSED/);
    await redis.restart();
    for (const each of [store, early]) {
      const found = await until("the store reconnects", () => each.load("w").catch(() => undefined));
      expect(found).toEqual({ version: 1, document: documentOf(1) });
      expect(await each.wakes()).toEqual([{ workspaceId: "w", atMs: 1 }]);
    }
    expect(await save(store, "w", 2)).toBe(true);
  });

  test("a call that waited for the connection for too long never changes the data", async () => {
    await redis.kill();
    const store = openStore(url, "late");
    await expect(save(store, "w", 1)).rejects.toThrow("Redis is unavailable");
    await redis.restart();
    await until("the store connects", () =>
      store.load("other").then(
        () => true,
        () => false,
      ),
    );
    expect(await store.load("w")).toBeUndefined();
  });

  test("a save rejects if Redis rejects the command", async () => {
    const store = openStore(url, "rejected");
    expect(await save(store, "w", 1)).toBe(true);
    await command("CONFIG", "SET", "maxmemory", "1");
    try {
      await expect(save(store, "w", 2)).rejects.toThrow(/^Redis rejects a call: OOM/);
    } finally {
      await command("CONFIG", "SET", "maxmemory", "0");
    }
    expect(await store.load("w")).toEqual({ version: 1, document: documentOf(1) });
  });

  test("a closed store rejects calls, including pending ones", async () => {
    const store = openStore(url, "closed");
    await save(store, "w", 1);
    await store.close?.();
    await store.close?.();
    await expect(store.load("w")).rejects.toThrow("the store is closed");
    await openStore(url, "never used").close?.();
    const silent = await startSilentServer();
    const waiting = openStore(`redis://127.0.0.1:${silent.port}`);
    const call = errorText(waiting.load("w"));
    await waiting.close?.();
    expect(await call).toContain("Redis is unavailable");
    silent.close();
  });

  test("calls to a server that does not answer reject, and the number of pending calls is limited", async () => {
    const silent = await startSilentServer();
    const store = openStore(`redis://127.0.0.1:${silent.port}`);
    const calls = Array.from({ length: 10_000 }, () => errorText(store.load("w")));
    expect(await errorText(store.load("w"))).toContain(
      "10000 calls of the store already wait for Redis: retry later",
    );
    for (const text of await Promise.all(calls)) expect(text).toContain("Redis did not answer in time");
    silent.close();
  });

  test("no error contains the password", async () => {
    const { port } = new URL(url);
    const wrong = "wrong/secret";
    const at = `game:${encodeURIComponent(wrong)}@127.0.0.1`;
    const texts = [
      await errorText(openStore(`redis://${at}:${port}`).load("w")),
      await errorText(openStore(`redis://${at}:${await freePort()}`).load("w")),
      ...[`redis://${at}:99999999`, `http://${at}`, at, `redis://game:${wrong}@`].flatMap((invalid) => [
        openFault(invalid),
        openFault({ url: invalid }),
        openFault({ rootNodes: [{ url: invalid }] }),
      ]),
    ];
    expect(texts[0]).toContain("WRONGPASS");
    expect(texts[1]).toContain("ECONNREFUSED");
    for (const text of texts.slice(2)) expect(text).toContain("the Redis URL of the store is invalid");
    for (const text of texts)
      for (const secret of [wrong, encodeURIComponent(wrong)]) expect(text).not.toContain(secret);
  });

  /** Returns the text of the error that `redisStore` throws. */
  function openFault(to: Parameters<typeof redisStore>[0]): string {
    try {
      openStore(to);
      return "no error";
    } catch (error) {
      return inspect(error, { depth: 10, showHidden: true });
    }
  }
});

/** Starts a server that accepts connections and never answers. */
async function startSilentServer() {
  const server: Server = createServer((socket) => void socket.on("error", () => undefined).resume());
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}

describe("a Redis Cluster", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await startTestCluster({ password: CLUSTER_PASSWORD, settings: ["appendfsync no"] });
  });
  afterAll(() => cluster.close());

  const clusterOptions = () => ({
    rootNodes: cluster.nodes.map(({ port }) => ({ socket: { host: "127.0.0.1", port } })),
    defaults: { password: CLUSTER_PASSWORD },
  });

  describe("every store", () => testStoreContract((name) => redisStore(clusterOptions(), { game: name })));

  test("the workspaces of a game are spread over the masters of the cluster", async () => {
    const store = openStore(clusterOptions(), "spread");
    const ids = Array.from({ length: 100 }, (_, i) => `w${i}`);
    await Promise.all(ids.map((id) => save(store, id, 1, 1)));
    const counts = await Promise.all(
      cluster.nodes.map(
        async (node) => ((await node.command("KEYS", "*:{spread:*:document:*")) as unknown[]).length,
      ),
    );
    // The replicas have the same keys as their masters.
    expect(counts.filter((count) => count > 5).length).toBeGreaterThanOrEqual(3);
  });

  test("after a failover, the store uses the new master", async () => {
    const store = openStore(clusterOptions(), "failover");
    const ids = Array.from({ length: 60 }, (_, i) => `w${i}`);
    for (const id of ids) expect(await save(store, id, 1, 1)).toBe(true);
    const [master] = cluster.nodes;
    if (master === undefined) throw new Error("the cluster has no node");
    const [replica] = await cluster.replicasOf(master);
    await killFollowed(master, replica);
    const saved = async (id: string): Promise<boolean> => {
      const stored = await store.load(id);
      return stored?.version === 2 || save(store, id, 2, 2);
    };
    for (const id of ids) await until(`${id} is saved`, () => saved(id).catch(() => false));
    expect(await store.wakes()).toHaveLength(ids.length);
    // A new store can connect although the first node of its options is down.
    expect(await openStore(clusterOptions(), "failover").load("w1")).toEqual({
      version: 2,
      document: documentOf(2),
    });
  });
});
