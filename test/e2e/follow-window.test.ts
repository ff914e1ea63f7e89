import type { Seen } from "../harness/consumer";
import { attemptsOf, idsOf, nack, typeIn, useFollowers } from "../harness/followers";
import { sharedService } from "../harness/shared-service";
import { evaluate, openTestStore, type TestStore } from "../harness/store";

const service = sharedService();
const followers = useFollowers();
let store: TestStore;
beforeAll(async () => void (store = await openTestStore(service.redis.url)));
afterAll(() => store.close());

/** A Lua script that appends a workspace's last event to the log again, `ARGV[2]` times. */
const REPEAT = `
  for _, entry in ipairs(redis.call('XREVRANGE', KEYS[1], '+', '-')) do
    if entry[2][2] == ARGV[1] then
      for i = 1, tonumber(ARGV[2]) do redis.call('XADD', KEYS[1], '*', unpack(entry[2])) end
      return
    end
  end`;

async function makeNeighbours() {
  const flooding = await service.workspaces.make();
  const shard = store.keys.shard(flooding.id);
  for (;;) {
    const quiet = await service.workspaces.make();
    if (store.keys.shard(quiet.id) === shard)
      return { flooding, quiet, log: `${store.keys.prefix(shard)}:in` };
  }
}

const textsOf = (seen: readonly Seen[]): readonly string[] => seen.map(({ text }) => text);

// time: ordering
test("while 2,000 events of a workspace wait, events of another workspace in the same shard overtake most of them", async () => {
  const { flooding, quiet, log } = await makeNeighbours();
  const open = { group: followers.newGroup(), window: 10, ackDeadline: { seconds: 600 } };
  const consumer = await followers.start(service.clients, open).opened();
  await typeIn(service.url, flooding, "flood");
  await evaluate(store, REPEAT, [log], flooding.id, 1_999);
  await consumer.sees(5);

  await typeIn(service.url, quiet, "1", "2", "3");
  expect(textsOf(await consumer.sees(8))).toEqual([...Array<string>(5).fill("flood"), "1", "2", "3"]);

  consumer.ackAll();
  const seen = await consumer.sees(2_003);
  expect(new Set(seen.map(({ attempt }) => attempt))).toEqual(new Set([1]));
  expect(new Set(idsOf(seen)).size).toBe(2_003);
});

// time: ordering
test("events that are nacked with a long delay leave the window to other workspaces, and still come before later events of their workspace", async () => {
  const { flooding, quiet } = await makeNeighbours();
  const open = { group: followers.newGroup(), window: 3, ackDeadline: { seconds: 600 } };
  const first = await followers.start(service.clients, open).opened();
  await typeIn(service.url, flooding, "a", "b");
  nack(first, { seconds: 600, nanos: 0 }, ...(await first.sees(2)));
  await typeIn(service.url, flooding, "c", "d", "e", "f");
  await typeIn(service.url, quiet, "1", "2");
  expect(textsOf(await first.sees(4))).toEqual(["a", "b", "1", "2"]);

  first.cancel();
  const second = followers.start(service.clients, open);
  second.ackAll();
  const again = (await second.sees(8)).filter(({ workspaceId }) => workspaceId === flooding.id);
  expect(attemptsOf(again)).toEqual(["a/2", "b/2", "c/1", "d/1", "e/1", "f/1"]);
});
