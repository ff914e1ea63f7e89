import { setTimeout as sleep } from "node:timers/promises";
import { expectSound, suffer } from "./fault";
import { startRigOnRedis, type Rig } from "./rig";

let rig: Rig;
beforeAll(async () => {
  ({ rig } = await startRigOnRedis({ cores: 3 }));
}, 60_000);
afterAll(() => rig.close());

const KILL_EVERY_MS = 10_000;
const KILLS = 12;

// contract: post-stored, envelope-sequence, poll-no-skip
test("three cores, of which one is killed every 10 s for two minutes, push, serve and deliver every event", async () => {
  const became = await suffer(rig, {
    name: "one of three cores killed every 10 s, 12 times",
    async happens() {
      for (let kill = 0; kill < KILLS; kill++) {
        const killed = rig.cores[kill % rig.cores.length];
        const nextAt = performance.now() + KILL_EVERY_MS;
        await killed?.kill();
        await killed?.start();
        // The interval is what the fault is; nothing is waited for.
        await sleep(Math.max(0, nextAt - performance.now()));
      }
    },
  });
  expectSound(became);
  expect(became.pushed).toBeGreaterThan(500);
}, 600_000);
