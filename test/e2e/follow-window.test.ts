import { typeIn, useFollowers } from "../harness/followers";
import { sharedService } from "../harness/shared-service";
import { evaluate, openTestStore, type TestStore } from "../harness/store";
import { until } from "../harness/wait";

const service = sharedService();
const followers = useFollowers();
let store: TestStore;
beforeAll(async () => void (store = await openTestStore(service.redis.url)));
afterAll(() => store.close());

/** Appends a workspace's last event to the log again, `ARGV[2]` times. */
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

// time: ordering
test("while 2,000 events of a workspace wait for acks, an event of another workspace in its shard comes at once", async () => {
  const { flooding, quiet, log } = await makeNeighbours();
  const open = { group: followers.newGroup(), window: 10, ackDeadline: { seconds: 600 } };
  const consumer = await followers.start(service.clients, open).opened();
  const ofQuiet = () => consumer.seen.filter(({ workspaceId }) => workspaceId === quiet.id);
  await typeIn(service.url, flooding, "flood");
  await evaluate(store, REPEAT, [log], flooding.id, 1_999);
  await consumer.sees(5);

  await typeIn(service.url, quiet, "hello");
  await until("the event of the other workspace has come", () => ofQuiet().length > 0);
  expect(ofQuiet()).toMatchObject([{ text: "hello", attempt: 1 }]);
  expect(consumer.seen.filter(({ workspaceId }) => workspaceId === flooding.id)).toHaveLength(5);

  consumer.ackAll();
  const seen = await consumer.sees(2_001);
  expect(new Set(seen.map(({ attempt }) => attempt))).toEqual(new Set([1]));
  expect(new Set(seen.map(({ id }) => id)).size).toBe(2_001);
});
