import { StoreUnavailable } from "../../core/ports/store-unavailable";
import { connectRedis, type Redis } from "../../core/store/redis";
import { startTestCluster, type TestCluster } from "../harness/redis-cluster";
import { addWorkspace, openTestStore, publication, type TestStore } from "../harness/store";
import { until } from "../harness/wait";

const FAILOVER_MS = 60_000;

let cluster: TestCluster;
let store: TestStore;
beforeAll(async () => {
  cluster = await startTestCluster();
  store = await openTestStore(cluster.url);
  await cluster.untilWhole();
}, 120_000);
afterAll(async () => {
  await store.close();
  await cluster.close();
});

/** For what is asked again while replicas do not confirm in time. */
function unlessAway(error: unknown): undefined {
  if (!(error instanceof StoreUnavailable)) throw error;
}

test("what a replica has is answered; what none has is not, though it may be stored", async () => {
  const confirming: Redis = await connectRedis({
    url: cluster.url,
    waitReplicas: 1,
    onError: () => undefined,
  });
  const prefix = store.keys.prefix(3);
  const set = (value: string) => confirming.confirmed(prefix, ["SET", `${prefix}:test`, value]);
  expect(await until("a replica confirms", () => set("1").catch(unlessAway), FAILOVER_MS)).toBe("OK");
  const [replica] = await cluster.replicasOf(await cluster.masterOf(prefix));
  replica?.pause();
  try {
    await expect(set("2")).rejects.toThrow("too few replicas have confirmed it");
    // What asks for no confirmation does not wait for it.
    expect(await confirming.command(prefix, ["GET", `${prefix}:test`])).toEqual(Buffer.from("2"));
  } finally {
    replica?.resume();
  }
  await until("the replica is back", () => set("3").catch(unlessAway), FAILOVER_MS);
  await confirming.close();
}, 180_000);

test("what no replica has is shown to nobody: no poll, no push, no follower", async () => {
  const careful = await openTestStore(cluster.url, { waitReplicas: 1 });
  try {
    const polled = await addWorkspace(store);
    const shard = store.keys.shard(polled.workspace.id);
    let pushed = await addWorkspace(store, { targetUrl: "https://bridge.example/" });
    while (store.keys.shard(pushed.workspace.id) !== shard)
      pushed = await addWorkspace(store, { targetUrl: "https://bridge.example/" });
    const member = { group: "careful", name: "c", token: "t" };
    await careful.followLog.open(member.group);
    const page = () =>
      careful.heldEvents.page({ record: polled, page: { start: { from: "oldest" }, limit: 10 } });
    const pushes = async () => {
      await careful.leases.take({ ...member, group: "!cores" }, shard);
      return careful.pushQueue.read(member.token, shard, undefined, 10);
    };
    const follow = async () => {
      await careful.followLog.take(member, shard);
      return careful.followLog.readNew(member, shard, 10);
    };

    const [replica] = await cluster.replicasOf(await cluster.masterOf(store.keys.prefix(shard)));
    replica?.pause();
    try {
      for (const { workspace } of [polled, pushed])
        await store.outboundEvents.publish(publication(workspace.id, 1));
      const event = { identity: { by: "id", id: "1" }, bytes: Buffer.from("{}") } as const;
      await store.inboundLog.append({ record: polled, event });
      for (const show of [page, pushes, follow])
        await expect(show()).rejects.toThrow("too few replicas have confirmed it");
    } finally {
      replica?.resume();
    }
    expect(await until("a page is served", () => page().catch(unlessAway), FAILOVER_MS)).toMatchObject({
      outcome: "page",
      events: [expect.anything()],
    });
    expect(await until("pushes are read", () => pushes().catch(unlessAway), FAILOVER_MS)).toHaveLength(1);
    // Read for the group by then, in the answer that did not come. The lease may have run out since.
    const readAgain = async () => {
      await careful.followLog.take(member, shard);
      return careful.followLog.readAgain(member, shard, 10, undefined);
    };
    const again = await until("the event is read again", () => readAgain().catch(unlessAway), FAILOVER_MS);
    expect(again.entries).toHaveLength(1);
  } finally {
    await careful.close();
  }
}, 300_000);
