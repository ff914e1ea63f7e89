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

test("while every reply from Redis is delayed by 200 ms, the service is slower but works correctly", async () => {
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
test("when replies from Redis are truncated, requests are answered with 503, and retried events are stored once", async () => {
  await survive(rig, {
    name: "truncated replies from Redis",
    async happens() {
      rig.redis.proxy.cutReplies(CUTS);
      await until("the replies were truncated", () => rig.redis.proxy.toCut() === 0);
    },
  });
});
