import { ErrorReply } from "redis";
import { StoreUnavailable } from "../../core/ports/store-unavailable";
import { createFunctions } from "../../core/store/functions";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { openTestStore, type TestStore } from "../harness/store";

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

/** Reads an outbox by functions that cannot be loaded, for a reason. */
function readWith(why: Error): Promise<unknown> {
  const functions = createFunctions({ ...store.redis, everywhere: () => Promise.reject(why) });
  return functions.call("read_mail", store.keys.prefix(0), ["10", "-"]);
}

test("functions that are there are called, whatever comes of loading them elsewhere", async () => {
  expect(await readWith(new StoreUnavailable("another master is away"))).toEqual([]);
});

test.each([
  ["a master is away", new StoreUnavailable("out of reach")],
  ["it is refused", new ErrorReply("ERR not now")],
])("while lost functions cannot be loaded, as %s, the store is unavailable", async (_why, why) => {
  await store.redis.command("", ["FUNCTION", "FLUSH"]);
  const refused = readWith(why);
  await expect(refused).rejects.toBeInstanceOf(StoreUnavailable);
  await expect(refused).rejects.toMatchObject({ cause: why });
  expect(await store.functions.call("read_mail", store.keys.prefix(0), ["10", "-"])).toEqual([]);
});
