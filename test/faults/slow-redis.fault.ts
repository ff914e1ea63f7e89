import { startTestRedis } from "../harness/redis";
import { until } from "../harness/wait";
import { expectSound, suffer } from "./fault";
import { startRig, type Rig } from "./rig";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy";

let rig: Rig;
let proxy: TcpProxy;
let close: () => Promise<void>;
beforeAll(async () => {
  const redis = await startTestRedis();
  proxy = await startTcpProxy({ path: redis.url.replace(/^unix:\/\//, "") });
  rig = await startRig({ redisUrl: `redis://127.0.0.1:${proxy.port}` });
  close = async () => {
    await rig.close();
    await proxy.close();
    await redis.close();
  };
});
afterAll(() => close());

const SLOW_MS = 200;
const CUTS = 30;

test("a Redis that answers 200 ms later makes everything slower, and nothing wrong", async () => {
  const became = await suffer(rig, {
    name: "a Redis that is 200 ms slower",
    async happens(load) {
      proxy.delay(SLOW_MS);
      await load.grows();
      proxy.delay(0);
    },
  });
  expectSound(became);
});

// contract: repeat-id
test("replies of Redis that break off in the middle are answered 503, and what is sent again is there once", async () => {
  const became = await suffer(rig, {
    name: "a Redis whose replies break off",
    async happens() {
      proxy.cutReplies(CUTS);
      await until("replies were cut", () => proxy.toCut === 0);
    },
  });
  expectSound(became);
});
