import { setTimeout as sleep } from "node:timers/promises";
import { startTestRedis } from "../harness/redis";
import { testRig } from "../harness/rig";
import { nth } from "./clients";
import { survive } from "./fault";

const rig = testRig(startTestRedis, { cores: 3 });
const KILL_EVERY_MS = 4_000;
const KILLS = 10;

// contract: post-stored, envelope-sequence, poll-no-skip
test("while one of three cores is killed every 4 s, every event still arrives", async () => {
  const became = await survive(rig, {
    name: `one of three cores killed every 4 s, ${KILLS} times`,
    async happens() {
      for (let kill = 0; kill < KILLS; kill++) {
        const nextAt = performance.now() + KILL_EVERY_MS;
        const killed = nth(rig.cores, kill);
        await killed.kill();
        await killed.start();
        // The interval between kills is part of the fault, so the test sleeps instead of waiting for a condition.
        await sleep(Math.max(0, nextAt - performance.now()));
      }
    },
  });
  expect(became.pushed).toBeGreaterThan(100);
});
