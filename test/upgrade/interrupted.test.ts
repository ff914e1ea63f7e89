import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { SHARDS_KEY } from "../../core/store/keys";
import { openPollDue } from "../harness/poll-due";
import { startMailServer } from "../harness/mail-server";
import { SECRETS_KEY, THIS_RELEASE } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { startRig } from "../harness/rig";
import { startReceiver } from "../harness/receiver";
import { createWorld, type Contents } from "./contents";
import { allFetched, gap, large, neverPolled, partlyFetched } from "./held";
import {
  BEFORE,
  describeUpgrade,
  FORMAT_BEFORE,
  runCore,
  startAll,
  stopAll,
  VERSION_BEFORE,
} from "./releases";

/** Connects to a Redis, and counts the commands of other clients. */
async function watchCommands({ url }: Pick<TestRedis, "url">, onCommand: (count: number) => void) {
  const socket = connect(url.replace(/^unix:\/\//, ""));
  await once(socket, "connect");
  let count = 0;
  socket.write("MONITOR\r\n");
  await once(socket, "data");
  socket.on("data", (chunk: Buffer) => {
    const lines = chunk.toString().split("\r\n").slice(0, -1);
    // Functions run inside Redis, so a migration cannot be killed between their commands.
    count += lines.filter((line) => !line.includes(" lua]")).length;
    onCommand(count);
  });
  return () => socket.destroy();
}

/** Runs a migration, and kills it after a number of commands to Redis. Returns the exit code; null if it was killed. */
async function migrateAndDie(
  redis: TestRedis,
  commands: number,
  ...to: readonly string[]
): Promise<number | null> {
  const main = join(THIS_RELEASE, "dist/core/main.js");
  const env = { PATH: process.env["PATH"], REDIS_URL: redis.url, SECRETS_KEY };
  const child = spawn(process.execPath, [main, "migrate", ...to], { env, stdio: "ignore" });
  const close = await watchCommands(redis, (count) => {
    if (count >= commands) child.kill("SIGKILL");
  });
  const [code] = (await once(child, "exit")) as [number | null];
  close();
  return code;
}

async function startFilled() {
  const mail = await startMailServer();
  const rig = await startRig(startTestRedis, { cores: 1, edges: 1, release: BEFORE });
  const bridge = await startReceiver();
  const due = await openPollDue(rig.redis);
  const world = createWorld({ rig, mail, bridge, due });
  const contents: Contents[] = [];
  for (const fill of [neverPolled, partlyFetched, large, allFetched, gap]) contents.push(await fill(world));
  return {
    rig,
    contents,
    redis: due.redis,
    async close() {
      await due.close();
      await rig.close();
      await bridge.close();
      await mail.close();
    },
  };
}

/** The exit code of a core that cannot use the data. */
const SETTINGS_FAULT = 78;
/**
 * The number of commands after which the first migration is killed, and the factor by which it grows for the next one.
 */
const FIRST_KILL = 10;
const KILL_GROWTH = 1.6;

// time: ordering
describeUpgrade(`a migration of the data of ${VERSION_BEFORE} that is killed again and again`, () => {
  let filled: Awaited<ReturnType<typeof startFilled>>;
  beforeAll(async () => {
    filled = await startFilled();
  });
  afterAll(() => filled.close());

  /**
   * Stops all processes. Then runs a migration and kills it, each time after more commands, until it ends by itself.
   * Once the migration has begun to change the data, neither release starts. Returns the number of kills.
   */
  async function change(release: string, ...to: readonly string[]): Promise<number> {
    const { rig, contents, redis } = filled;
    await stopAll(rig);
    let kills = 0;
    let isIncomplete = false;
    for (let commands = FIRST_KILL; ; commands *= KILL_GROWTH) {
      const code = await migrateAndDie(rig.redis, commands, ...to);
      if (code === 0) break;
      expect(code).toBeNull();
      kills += 1;
      // The lock of a killed process expires after 10 seconds. The test does not wait for that.
      await redis.command("", ["DEL", "cb:migration"]);
      if (isIncomplete) continue;
      const mark = String(await redis.command("", ["GET", SHARDS_KEY]));
      isIncomplete = mark.includes("migrating");
      if (!isIncomplete) continue;
      const outcomes = await Promise.all(
        [THIS_RELEASE, BEFORE].map((each) => runCore(rig.redis.url, [], each)),
      );
      expect(outcomes.map(({ code }) => code)).toEqual([SETTINGS_FAULT, 1]);
    }
    expect(isIncomplete).toBe(true);
    await startAll(rig, release);
    for (const { check } of contents) await check();
    return kills;
  }

  test("a killed migration continues when it runs again, and keeps all held events", async () => {
    expect(await change(THIS_RELEASE)).toBeGreaterThan(2);
  });

  test("a killed migration to the previous format also continues when it runs again", async () => {
    for (const { add } of filled.contents) await add?.();
    expect(await change(BEFORE, "--to", FORMAT_BEFORE)).toBeGreaterThan(2);
  });
});
