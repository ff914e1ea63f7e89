import { testFolder } from "../harness/folder";
import { until } from "../harness/wait";
import { expectNoRefusal, expectOnlyOutages } from "./bridge-pod";
import {
  createInstallation,
  expectReplaced,
  install,
  startBridge,
  startGame,
  underLoad,
  upgrade,
  type Installation,
} from "./installation";
import { startCluster, startSentinel, type RedisPods } from "./redis-topologies";
import { describeInCluster, NEXT_IMAGE } from "./settings";

const LONG_MS = 1_200_000;

describeInCluster.each([
  ["Sentinel", startSentinel],
  ["a Redis Cluster", startCluster],
])("the chart with %s", (kind, startRedis) => {
  const folder = testFolder();
  let installation: Installation;
  let redis: RedisPods;
  beforeAll(async () => {
    installation = await createInstallation(folder);
    redis = await startRedis(installation);
    await install(installation, redis.values);
    await startGame(installation);
    await startBridge(installation);
  }, LONG_MS);
  afterAll(() => installation.destroy(), LONG_MS);

  test(
    "no event is refused or lost while all Redis servers run",
    async () => {
      expectNoRefusal(await underLoad(installation, `${kind}: load`, () => Promise.resolve()));
    },
    LONG_MS,
  );

  test(
    "no accepted event is lost when a Redis master is removed by force during an upgrade",
    async () => {
      const pods = () => installation.chat.pods("app.kubernetes.io/instance=games");
      const before = await pods();
      const account = await underLoad(installation, `${kind}: failover during an upgrade`, async () => {
        const upgraded = upgrade(installation, redis.values);
        // The test removes the master only after the upgrade has started the first new pod.
        const failedOver = untilFirstNewPod(installation, before.length).then(() => redis.failOver());
        await Promise.all([upgraded, failedOver]);
        await redis.untilWhole();
      });
      expectReplaced(before, await pods(), NEXT_IMAGE);
      expectOnlyOutages(account);
    },
    LONG_MS,
  );
});

async function untilFirstNewPod({ chat }: Installation, count: number): Promise<void> {
  const hasMore = async () => (await chat.pods("app.kubernetes.io/instance=games")).length > count;
  await until("the upgrade has started a pod", hasMore);
}
