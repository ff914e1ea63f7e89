import { startTestRedis } from "../harness/redis";
import { testRig } from "../harness/rig";
import { until } from "../harness/wait";
import { survive } from "./fault";
import { startTcpProxy } from "./tcp-proxy";

const SLOW_MS = 200;
const CUTS = 30;

const rig = testRig(async () => {
  const redis = await startTestRedis();
  const proxy = await startTcpProxy({ path: redis.url.replace(/^unix:\/\//, "") });
  async function close(): Promise<void> {
    await proxy.close();
    await redis.close();
  }
  return { proxy, url: `redis://127.0.0.1:${proxy.port}`, close };
});

test("a Redis that answers 200 ms later makes everything slower, and nothing wrong", async () => {
  await survive(rig, {
    name: "a Redis that is 200 ms slower",
    async happens(load) {
      rig.redis.proxy.delay(SLOW_MS);
      await load.grows();
      rig.redis.proxy.delay(0);
    },
  });
});

// contract: repeat-id
test("replies of Redis that break off in the middle are answered 503, and what is sent again is there once", async () => {
  await survive(rig, {
    name: "a Redis whose replies break off",
    async happens() {
      rig.redis.proxy.cutReplies(CUTS);
      await until("replies were cut", () => rig.redis.proxy.toCut() === 0);
    },
  });
});
