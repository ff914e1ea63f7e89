import { ErrorReply } from "@redis/client";
import { StoreUnavailable } from "../../core/ports/store-faults";
import { createFunctions } from "../../core/store/functions";
import { asList, asText } from "../../core/store/redis/reply";
import { startCore } from "../harness/processes";
import { addWorkspace, inbound, openTestStore, publication, testStore, texts } from "../harness/store";
import { until } from "../harness/wait";

const store = testStore();

describe("the number of shards is fixed at the first start", () => {
  test.each([1, 8, 17])(
    "a store with SHARDS=%i fails to open, and the error names the number to set",
    async (shards) => {
      await expect(openTestStore(store.redisUrl, { shards })).rejects.toThrow(
        `SHARDS is ${shards}, but this Redis was first used with 16: set SHARDS=16`,
      );
    },
  );

  test("a core with a different number of shards exits with an error that names the number to set", async () => {
    await expect(startCore(store.redisUrl, { SHARDS: "8" })).rejects.toThrow(/set SHARDS=16/);
  });
});

test("every key of a shard is in the slot of the shard's prefix", async () => {
  const record = await addWorkspace(store);
  await store.outboundEvents.publish(publication(record.workspace.id, 1, { idempotencyKey: "k" }));
  await store.heldEvents.page({ record, page: "count" });
  await store.requestLimits.admitAddress("192.0.2.1");
  await store.inboundLog.append(inbound(record, "1"));
  const keys = await texts(store, "KEYS", "*");
  expect(keys.length).toBeGreaterThan(8);
  for (const key of keys) expect(key).toMatch(/^(cb:shards|cb:\{s(\d|1[0-5])\}:.+)$/);
});

test("a command fails with a TypeError if an argument cannot be sent, and the connection stays usable", async () => {
  const nothing = undefined as unknown as string;
  await expect(store.redis.command("", ["GET", nothing])).rejects.toBeInstanceOf(TypeError);
  expect(await store.redis.command("", ["GET", "no such key"])).toBeNull();
});

test("a starting core does not load functions that Redis already has, because loading them would reset the rate limits", async () => {
  const loads = async () => /^cmdstat_function\|load:calls=(\d+)/m.exec(await commandStats())?.[1];
  const commandStats = async () => asText(await store.redis.command("", ["INFO", "commandstats"]));
  const before = await loads();
  expect(Number(before)).toBeGreaterThan(0);
  await (await openTestStore(store.redisUrl)).close();
  expect(await loads()).toBe(before);
});

describe("functions that a Redis server has lost", () => {
  /** Calls a function of the store. If Redis does not have the function, loading the functions fails with `why`. */
  function readWith(why: Error): Promise<unknown> {
    const functions = createFunctions({ ...store.redis, everywhere: () => Promise.reject(why) });
    return functions.call("read_mail", store.keys.prefix(0), ["10", "-"]);
  }

  test("functions that a server has lost are loaded again by the next call", async () => {
    const record = await addWorkspace(store);
    const { id } = record.workspace;
    await store.redis.command("", ["FUNCTION", "FLUSH"]);
    const answers = await Promise.all([
      store.requestLimits.admitAddress("192.0.2.2"),
      store.workspaces.read(id),
      store.heldEvents.page({ record, page: "count" }),
      ...Array.from({ length: 20 }, (_, i) => store.outboundEvents.publish(publication(id, i))),
    ]);
    const published = expect.objectContaining({ outcome: "published" }) as object;
    expect(answers).toEqual([undefined, record, { outcome: "counted" }, ...Array(20).fill(published)]);
    expect(asList(await store.redis.command("", ["FUNCTION", "LIST"]))).toHaveLength(1);
  });

  test("functions that a server has lost do not prevent calls to another server that still has the functions", async () => {
    expect(await readWith(new StoreUnavailable("another master is unavailable"))).toEqual([]);
  });

  test.each([
    ["a master is unavailable", new StoreUnavailable("the master is unavailable")],
    ["Redis rejects them", new ErrorReply("ERR not now")],
  ])(
    "if a server has lost its functions, the store is unavailable while they cannot be loaded because %s",
    async (_why, why) => {
      await store.redis.command("", ["FUNCTION", "FLUSH"]);
      const refused = readWith(why);
      await expect(refused).rejects.toBeInstanceOf(StoreUnavailable);
      await expect(refused).rejects.toMatchObject({ cause: why });
      expect(await store.functions.call("read_mail", store.keys.prefix(0), ["10", "-"])).toEqual([]);
    },
  );
});

test("a connection has at most 10,000 commands in progress, and the next command fails with StoreUnavailable", async () => {
  const ping = (): Promise<unknown> => store.redis.command("", ["PING"]);
  const asked = await Promise.allSettled(Array.from({ length: 10_001 }, ping));
  // On a busy machine, some answers are late. The connection sends pings itself, so one of the 10,000 commands may be
  // its own.
  const refused = asked.flatMap((each, i) =>
    "reason" in each && !/in time/.test(String(each.reason)) ? [[i, each.reason as unknown] as const] : [],
  );
  const places = refused.map(([place]) => place);
  expect(places).toEqual([9_999, 10_000].slice(-Math.max(1, places.length)));
  for (const [, reason] of refused) expect(reason).toBeInstanceOf(StoreUnavailable);
  await until("the connection is usable", () => ping().catch(() => false));
});
