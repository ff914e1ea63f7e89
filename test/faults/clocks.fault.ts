import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { status } from "../harness/behaviours";
import type { ReceivedRequest } from "../harness/receiver";
import { startTestRedis } from "../harness/redis";
import { startRig, type Rig } from "../harness/rig";
import { HANG_MS, until } from "../harness/wait";
import { connectRedis } from "../../core/store/redis/redis";
import { asNumber, asList } from "../../core/store/redis/reply";
import { survive, testWith } from "./fault";

let rig: Rig;
afterEach(() => rig.close());

const WRONG_MS = 180_000;
const STEP_SECONDS = 60;
/** Returns the timestamp in a push's signature, in ms since the epoch. */
const signedAt = ({ headers }: ReceivedRequest): number =>
  1_000 * Number(/^t=(\d+)/.exec(String(headers["service-signature"]))?.[1]);

// time: smoke
// contract: envelope-sequence
test("a core whose clock is 3 minutes off uses the clock of Redis: the timestamps of pushes are correct, and no request is rejected", async () => {
  const wrong = {
    NODE_OPTIONS: `--require ${join(__dirname, "clock-shift.js")}`,
    CLOCK_SHIFT_MS: String(WRONG_MS),
  };
  rig = await startRig(startTestRedis, { settingsOf: (place) => (place === 0 ? wrong : {}) });
  await survive(rig, {
    name: "the clock of one core is 3 minutes off",
    happens: async (load) => {
      await load.grows();
      await rig.cores[1]?.kill();
      // The other core was killed, so the core with the shifted clock holds all shards.
      await load.grows();
      await rig.cores[1]?.start();
    },
  });
  for (const request of rig.receiver.requests) {
    const { createdAt } = JSON.parse(request.body.toString("utf8")) as { createdAt: string };
    expect(Math.abs(request.atEpochMs - signedAt(request))).toBeLessThan(HANG_MS);
    expect(Math.abs(request.atEpochMs - Date.parse(createdAt))).toBeLessThan(HANG_MS);
  }
});

/**
 * Shell lines that shift the clock of Redis by a number of seconds, which Redis reads from the file `clock` in its
 * folder.
 */
const CLOCK_STEPS = [
  `cc -shared -fPIC -O1 -o "$FOLDER/clock-step.so" ${join(__dirname, "clock-step.c")} || exit 1`,
  'export LD_PRELOAD="$FOLDER/clock-step.so" CLOCK_STEP_FILE="$FOLDER/clock"',
].join("\n");

/**
 * Starts the service with a Redis server whose clock is adjustable. Returns a function that sets the server's clock
 * back.
 */
async function startOnSteppedClock(): Promise<() => Promise<void>> {
  const own = await startRig(() => startTestRedis([], CLOCK_STEPS));
  rig = own;
  return async () => {
    const admin = await connectRedis({ url: own.redis.url, onError: () => undefined });
    const clock = join(own.redis.folder, "clock");
    // The file is replaced atomically, because Redis may read it at any moment.
    writeFileSync(`${clock}.new`, `-${STEP_SECONDS}\n`);
    renameSync(`${clock}.new`, clock);
    await until("the clock has stepped back", async () => {
      const [seconds] = asList(await admin.command("", ["TIME"]));
      return Date.now() - 1_000 * asNumber(seconds) > STEP_SECONDS * 1_000 - 1_000;
    });
    await admin.close();
  };
}

const WHY_CC = "it builds the library that shifts the clock of Redis (apt-get install gcc libc6-dev)";

const STEPS_BACK = "the clock of Redis steps back a minute";
// contract: envelope-sequence
testWith(
  "cc",
  WHY_CC,
  STEPS_BACK,
  "when the clock of Redis steps back a minute, sequences keep rising, and no request within the rate limits is rejected",
  async () => {
    const stepBack = await startOnSteppedClock();
    await survive(rig, { name: STEPS_BACK, happens: stepBack });
  },
);

const STEPS_BACK_AND_FAILS = "the clock of Redis steps back while pushes fail";
testWith(
  "cc",
  WHY_CC,
  STEPS_BACK_AND_FAILS,
  "failed pushes are retried even if the clock of Redis steps back a minute in the meantime",
  async () => {
    const stepBack = await startOnSteppedClock();
    let isBad = false;
    await survive(rig, {
      name: STEPS_BACK_AND_FAILS,
      drops: ["failed"],
      answer: () => (isBad ? { ok: false, behaviour: status(500) } : { ok: true, behaviour: status(204) }),
      async happens({ facts, pushed }) {
        isBad = true;
        await until("attempts failed", () => facts.all.some((fact) => fact.saw === "pushed" && !fact.ok));
        await stepBack();
        const isBehind = (request: ReceivedRequest): boolean =>
          request.atEpochMs - signedAt(request) > (STEP_SECONDS * 1_000) / 2;
        await until("push timestamps follow the clock that was set back", () => {
          const behind = rig.receiver.requests.filter(isBehind);
          return pushed.every((id) => behind.some(({ headers }) => headers["service-workspace"] === id));
        });
        isBad = false;
      },
    });
  },
);
