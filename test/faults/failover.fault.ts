import { startTestCluster } from "../harness/redis-cluster";
import type { RedisNode } from "../harness/redis-node";
import { startTestSentinel } from "../harness/redis-sentinel";
import { until } from "../harness/wait";
import type { Account } from "./account";
import { expectSound, expectSums, report, underFault } from "./fault";
import { startRig, type Rig } from "./rig";

/** A Redis of several servers whose master can be killed. */
interface Replicated {
  readonly url: string;
  master(): Promise<RedisNode>;
  untilWhole(): Promise<void>;
  close(): Promise<void>;
}

const START: Readonly<Record<string, () => Promise<Replicated>>> = {
  Sentinel: () => startTestSentinel(),
  async "a cluster"() {
    const cluster = await startTestCluster();
    return { ...cluster, master: () => cluster.masterOf("cb:{s0}") };
  },
};

/** How long before the kill an answer may have been given that is lost where no replica has to confirm. */
const LAG_MAX_MS = 1_000;
const FAILOVER_MS = 90_000;

let redis: Replicated;
let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
  await redis.close();
}, 60_000);

/** Kills the master under load, waits until another one serves, and brings it back. */
async function failOver(
  name: string,
  replicas: number,
): Promise<{ readonly became: Account; readonly killedAt: number }> {
  rig = await startRig({ redisUrl: redis.url, settings: { REDIS_WAIT_REPLICAS: String(replicas) } });
  let killedAt = 0;
  const { became, load, failures } = await underFault(rig, {
    name,
    async happens(load) {
      const killed = await redis.master();
      killedAt = performance.now();
      await killed.kill();
      await until(
        "there is another master",
        async () => (await redis.master().catch(() => killed)) !== killed,
        FAILOVER_MS,
      );
      // One that comes back at once takes itself for the master until it is told, and what it answers in that
      // moment is lost, too, unless a replica has to confirm it.
      if (replicas === 0) await load.grows();
      await killed.start();
      await redis.untilWhole();
    },
  });
  const early = became.lost.map(({ at }) => Math.round(killedAt - at));
  const lost = early.length === 0 ? [] : [`lost: answered ${early.join(", ")} ms before the kill`];
  report(name, load, became, [...lost, ...failures]);
  return { became, killedAt };
}

describe.each(Object.keys(START))("when the master of %s is killed under load", (kind) => {
  beforeEach(async () => {
    redis = (await START[kind]?.()) ?? redis;
  }, 120_000);

  test("nothing that a replica had to confirm is lost", async () => {
    const { became } = await failOver(`failover of ${kind}, REDIS_WAIT_REPLICAS=1`, 1);
    expectSound(became);
  }, 300_000);

  test("nothing is lost but what was answered in the moment before, as its replica did not have it yet", async () => {
    const { became, killedAt } = await failOver(`failover of ${kind}, no replica confirms`, 0);
    expectSums(became);
    // What the new master never had, a client whose answer broke off sends again, and it may be there by two ids.
    if (became.lost.length === 0 && became.duplicated.length === 0) expect(became.wrong).toEqual([]);
    for (const { at } of became.lost) {
      expect(at).toBeLessThan(killedAt + LAG_MAX_MS);
      expect(killedAt - at).toBeLessThan(LAG_MAX_MS);
    }
  }, 300_000);
});
