import { setTimeout as sleep } from "node:timers/promises";
import { startTestRedis } from "../harness/redis";
import { testRig } from "../harness/rig";
import { nth } from "./clients";
import { survive } from "./fault";

const rig = testRig(startTestRedis, { cores: 3 });
const KILL_EVERY_MS = 4_000;
const KILLS = 10;

// contract: post-stored, envelope-sequence, poll-no-skip
test("three cores, one of which is killed every 4 s, push, serve and deliver every event", async () => {
  const became = await survive(rig, {
    name: `one of three cores killed every 4 s, ${KILLS} times`,
    async happens() {
      for (let kill = 0; kill < KILLS; kill++) {
        const nextAt = performance.now() + KILL_EVERY_MS;
        const killed = nth(rig.cores, kill);
        await killed.kill();
        await killed.start();
        // The interval is the fault; nothing is waited for.
        await sleep(Math.max(0, nextAt - performance.now()));
      }
    },
  });
  expect(became.pushed).toBeGreaterThan(100);
});
