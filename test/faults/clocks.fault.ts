import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { status } from "../harness/behaviours";
import { until } from "../harness/wait";
import { connectRedis } from "../../core/store/redis";
import { asNumber, asList } from "../../core/store/reply";
import { expectSound, suffer, testWhere } from "./fault";
import { startRig, startRigOnRedis, type Rig } from "./rig";
import { CLOCK_STEPS, startWrappedRedis, whyNoClockSteps } from "./wrapped-redis";

/** Cores read the clock of Redis every 2 s. */
const SEEN_MS = 3_500;

let rig: Rig;
let close: () => Promise<void>;
afterEach(() => close());

const FAILED_MS = 60_000;
const WRONG_MS = 180_000;
const STEP_SECONDS = 60;
/** What a busy machine may take between an event's making and its coming. */
const NEAR_MS = 30_000;

// contract: envelope-sequence
test("a core whose clock is 3 minutes wrong goes by the clock of the service: nothing is late, stale or refused", async () => {
  const wrong = {
    NODE_OPTIONS: `--require ${join(__dirname, "clock-shift.js")}`,
    CLOCK_SHIFT_MS: String(WRONG_MS),
  };
  ({ rig } = await startRigOnRedis({ settingsOf: (place) => (place === 0 ? wrong : {}) }));
  close = () => rig.close();
  const became = await suffer(rig, {
    name: "the clock of one core 3 minutes wrong",
    happens: async (load) => {
      await load.grows();
      await rig.cores[1]?.kill();
      // Now it has all the shards.
      await load.grows();
      await rig.cores[1]?.start();
    },
  });
  expectSound(became);
  for (const { headers, body, atEpochMs } of rig.receiver.requests) {
    const signedAt = 1_000 * Number(/^t=(\d+)/.exec(String(headers["service-signature"]))?.[1]);
    const { createdAt } = JSON.parse(body.toString("utf8")) as { createdAt: string };
    expect(Math.abs(atEpochMs - signedAt)).toBeLessThan(NEAR_MS);
    expect(Math.abs(atEpochMs - Date.parse(createdAt))).toBeLessThan(NEAR_MS);
  }
});

/** A Redis whose clock can be stepped back, and the service over it. */
async function startOnSteppedClock(): Promise<{ stepBack(): Promise<void> }> {
  const redis = await startWrappedRedis(CLOCK_STEPS);
  const admin = await connectRedis({ url: redis.url, onError: () => undefined });
  rig = await startRig({ redisUrl: redis.url });
  close = async () => {
    await rig.close();
    await admin.close();
    await redis.close();
  };
  const behindMs = async (): Promise<number> => {
    const [seconds] = asList(await admin.command("", ["TIME"]));
    return Date.now() - 1_000 * asNumber(seconds);
  };
  expect(await behindMs()).toBeLessThan(NEAR_MS);
  return {
    async stepBack() {
      // Whole at once, as it may be read at any moment.
      writeFileSync(join(redis.folder, "clock.new"), `-${STEP_SECONDS}\n`);
      renameSync(join(redis.folder, "clock.new"), join(redis.folder, "clock"));
      await until("it has stepped back", async () => (await behindMs()) > STEP_SECONDS * 1_000 - 1_000);
    },
  };
}

// contract: envelope-sequence
testWhere(
  whyNoClockSteps(),
  "the clock of Redis steps back a minute",
  "when the clock of Redis steps back a minute, sequences still rise and nobody under the limits is refused",
  async () => {
    const { stepBack } = await startOnSteppedClock();
    const became = await suffer(rig, {
      name: "the clock of Redis steps back a minute",
      happens: stepBack,
    });
    expectSound(became);
  },
);

testWhere(
  whyNoClockSteps(),
  "the clock of Redis steps back while pushes fail",
  "a failed push is tried again at +1 s and +4 s, also when the clock of Redis steps back a minute meanwhile",
  async () => {
    const { stepBack } = await startOnSteppedClock();
    let isBad = false;
    const became = await suffer(rig, {
      name: "the clock of Redis steps back while pushes fail",
      drops: ["failed"],
      answer: () => (isBad ? { ok: false, behaviour: status(500) } : { ok: true, behaviour: status(204) }),
      async happens({ facts }) {
        isBad = true;
        await until(
          "attempts failed",
          () => facts.all.some((fact) => fact.saw === "pushed" && !fact.ok),
          FAILED_MS,
        );
        await stepBack();
        const seenBy = performance.now() + SEEN_MS;
        await until("cores have read the clock since", () => performance.now() > seenBy);
        isBad = false;
      },
    });
    expectSound(became);
  },
);
