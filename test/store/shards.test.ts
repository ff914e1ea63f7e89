import { CONTRACT_LIMITS } from "../../core/domain/contract";
import { createSecretBox } from "../../core/store/secret-box";
import { openStore, type Store } from "../../core/store/store";
import { asList } from "../../core/store/reply";
import { SECRETS_KEY, startCore } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { addWorkspace, openTestStore, publication, texts, type TestStore } from "../harness/store";

let redis: TestRedis;
let store: TestStore;
beforeAll(async () => {
  redis = await startTestRedis();
  store = await openTestStore(redis.url);
});
afterAll(async () => {
  await store.close();
  await redis.close();
});

function openWith(shards: number): Promise<Store> {
  return openStore({
    redisUrl: redis.url,
    shards,
    inboundLogMax: 1_000,
    limits: CONTRACT_LIMITS,
    secretBox: createSecretBox([Buffer.from(SECRETS_KEY, "hex")]),
    onError: () => undefined,
  });
}

describe("the number of shards is fixed at the first start", () => {
  test("the same number opens the store again", async () => {
    const again = await openWith(16);
    await again.probe();
    await again.close();
  });

  test.each([1, 8, 17])("%i is refused with the number to set", async (shards) => {
    await expect(openWith(shards)).rejects.toThrow(
      `SHARDS is ${shards}, but this Redis was first used with 16: set SHARDS=16`,
    );
  });

  test("a core with another number ends and says so", async () => {
    await expect(startCore(redis.url, { SHARDS: "8" })).rejects.toThrow(/set SHARDS=16/);
  });
});

test("every key of a shard is in the slot of its prefix", async () => {
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  await store.outboundEvents.publish(publication(id, 1, { idempotencyKey: "k" }));
  await store.heldEvents.page({ record, page: "count" });
  await store.requestLimits.admitAddress("192.0.2.1");
  const identity = { by: "id", id: "1" } as const;
  await store.inboundLog.append({ record, event: { identity, bytes: Buffer.from("hello") } });
  const keys = await texts(store, "KEYS", "*");
  expect(keys.length).toBeGreaterThan(8);
  for (const key of keys) expect(key).toMatch(/^(cb:shards|cb:\{s(\d|1[0-5])\}:.+)$/);
});

test("functions that a server has lost are loaded again by whoever calls next", async () => {
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  const libraries = async (): Promise<number> =>
    asList(await store.redis.command("", ["FUNCTION", "LIST"])).length;
  expect(await libraries()).toBe(1);
  await store.redis.command("", ["FUNCTION", "FLUSH"]);
  const answers = await Promise.all([
    store.requestLimits.admitAddress("192.0.2.2"),
    store.workspaces.read(id),
    store.heldEvents.page({ record, page: "count" }),
    ...Array.from({ length: 20 }, (_, i) => store.outboundEvents.publish(publication(id, i))),
  ]);
  expect(answers.slice(0, 3)).toEqual([undefined, record, { outcome: "counted" }]);
  expect(answers.slice(3).every((answer) => typeof answer === "object" && "sequence" in answer)).toBe(true);
  expect(await libraries()).toBe(1);
});

test("an argument that cannot be sent is a fault of the caller's, and the connection goes on", async () => {
  const nothing = undefined as unknown as string;
  await expect(store.redis.command("", ["GET", nothing])).rejects.toBeInstanceOf(TypeError);
  expect(await store.redis.command("", ["GET", "no such key"])).toBeNull();
});
