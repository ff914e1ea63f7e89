import { startTestCluster } from "../harness/redis-cluster";
import { killFollowed, type RedisNode } from "../harness/redis-node";
import { startTestSentinel } from "../harness/redis-sentinel";
import { startRig, type Rig } from "../harness/rig";
import { until } from "../harness/wait";
import { expectSound, expectSums, underFault } from "./fault";

/** A master of Redis and its replicas. Tests can kill the master. */
interface Replicated {
  readonly url: string;
  master(): Promise<RedisNode>;
  replicaOf(master: RedisNode): Promise<RedisNode | undefined>;
  untilWhole(): Promise<unknown>;
  close(): Promise<void>;
}

async function startSentinel(): Promise<Replicated> {
  const watched = await startTestSentinel();
  return { ...watched, replicaOf: async (master) => watched.servers.find((server) => server !== master) };
}

async function startCluster(): Promise<Replicated> {
  const cluster = await startTestCluster();
  return {
    ...cluster,
    master: () => cluster.masterOf("cb:{s0}"),
    replicaOf: async (master) => (await cluster.replicasOf(master))[0],
  };
}

let rig: Rig;
afterEach(() => rig.close());

/** Kills the master under load, waits until another server is the master, and restarts the killed server. */
async function failOver(startRedis: () => Promise<Replicated>, name: string, replicas: number) {
  const own = await startRig(startRedis, { settings: { REDIS_WAIT_REPLICAS: String(replicas) } });
  const { redis, areReady } = (rig = own);
  // The replica has all writes that were answered before `followedAt`. From `servedAt` on, a different server is the
  // master.
  let [followedAt, killedAt, servedAt] = [0, 0, 0];
  const { became } = await underFault(own, {
    name,
    async happens(load) {
      const killed = await redis.master();
      const replica = await redis.replicaOf(killed);
      followedAt = performance.now();
      await killFollowed(killed, replica);
      killedAt = performance.now();
      await until("a core is not ready", async () => !(await areReady()));
      const next = () => redis.master().catch(() => killed);
      await until("there is another master", async () => (await next()) !== killed);
      servedAt = performance.now();
      // If the killed master restarts immediately, it acts as the master until it learns that it was replaced. The
      // writes that it answers until then are lost, unless a replica must confirm them. So if no replica must confirm
      // writes, the killed master restarts only after the service has worked with the new master.
      if (replicas === 0) await load.grows();
      await killed.start();
      await redis.untilWhole();
      await until("the cores are ready", areReady);
    },
    notes({ lost }) {
      const early = lost.map(({ at }) => Math.round(killedAt - at));
      return lost.length === 0 ? [] : [`lost: answered ${early.join(", ")} ms before the kill`];
    },
  });
  return { became, followedAt, servedAt };
}

describe.each([
  ["with Sentinel", startSentinel],
  ["in a cluster", startCluster],
])("when a master is killed under load %s", (kind, startRedis) => {
  // contract: post-stored, poll-no-skip, envelope-sequence
  test("no write is lost if a replica must confirm each write", async () => {
    const { became } = await failOver(startRedis, `failover ${kind}, REDIS_WAIT_REPLICAS=1`, 1);
    expectSound(became);
  });

  // time: ordering
  test("without confirmation, only writes that the replica did not yet have are lost", async () => {
    const failedOver = await failOver(startRedis, `failover ${kind}, no replica confirms`, 0);
    const { became, followedAt, servedAt } = failedOver;
    expectSums(became);
    // A client repeats a request that got no complete answer. If the new master has lost the event of that request, the
    // repeated request creates a second event, with a new id. Lost and duplicated events can also cause other
    // violations, so `wrong` is checked only if no event is lost or duplicated.
    if (became.lost.length === 0 && became.duplicated.length === 0) expect(became.wrong).toEqual([]);
    // Only writes that were answered between `followedAt` and `servedAt` may be lost. How many are lost depends on the
    // replica's lag, which differs between machines.
    for (const { at } of became.lost) {
      expect(at).toBeGreaterThanOrEqual(followedAt);
      expect(at).toBeLessThan(servedAt);
    }
  });
});
