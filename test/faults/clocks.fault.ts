import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { status } from "../harness/behaviours";
import type { ReceivedRequest } from "../harness/receiver";
import { HANG_MS, until } from "../harness/wait";
import { connectRedis } from "../../core/store/redis";
import { asNumber, asList } from "../../core/store/reply";
import { expectSound, suffer, testWhere } from "./fault";
import { startRig, startRigOnRedis, type Rig } from "./rig";
import { CLOCK_STEPS, startWrappedRedis, whyNoClockSteps } from "./wrapped-redis";

let rig: Rig;
let close: () => Promise<void>;
afterEach(() => close());

const WRONG_MS = 180_000;
const STEP_SECONDS = 60;
/** When the core that sent a push signed it, by its clock, in ms since the epoch. */
const signedAt = ({ headers }: ReceivedRequest): number =>
  1_000 * Number(/^t=(\d+)/.exec(String(headers["service-signature"]))?.[1]);

// time: smoke
// contract: envelope-sequence
test("a core whose clock is 3 minutes wrong goes by the clock of the service: nothing is late or refused", async () => {
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
  for (const request of rig.receiver.requests) {
    const { createdAt } = JSON.parse(request.body.toString("utf8")) as { createdAt: string };
    expect(Math.abs(request.atEpochMs - signedAt(request))).toBeLessThan(HANG_MS);
    expect(Math.abs(request.atEpochMs - Date.parse(createdAt))).toBeLessThan(HANG_MS);
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
  "when the clock of Redis steps back a minute, sequences rise and nobody under the limits is refused",
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
  "failed pushes are retried although the clock of Redis steps back a minute meanwhile",
  async () => {
    const { stepBack } = await startOnSteppedClock();
    let isBad = false;
    const became = await suffer(rig, {
      name: "the clock of Redis steps back while pushes fail",
      drops: ["failed"],
      answer: () => (isBad ? { ok: false, behaviour: status(500) } : { ok: true, behaviour: status(204) }),
      async happens({ facts, pushed }) {
        isBad = true;
        await until("attempts failed", () => facts.all.some((fact) => fact.saw === "pushed" && !fact.ok));
        await stepBack();
        const isBehind = (request: ReceivedRequest): boolean =>
          request.atEpochMs - signedAt(request) > (STEP_SECONDS * 1_000) / 2;
        await until("the clocks of all cores have followed", () => {
          const behind = rig.receiver.requests.filter(isBehind);
          return pushed.every((id) => behind.some(({ headers }) => headers["service-workspace"] === id));
        });
        isBad = false;
      },
    });
    expectSound(became);
  },
);
