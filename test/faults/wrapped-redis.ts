import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasEnded } from "../../local/guarded-child";
import { startPrivateRedis, type PrivateRedis } from "../../local/private-redis";
import { findRedisServer } from "../../local/redis-server";

/** A Redis that is started by a script of a test's own, which sets its surroundings up. */
export interface WrappedRedis {
  readonly url: string;
  readonly pid: number;
  /** For files of the script's. */
  readonly folder: string;
  /** Kills it, if it has not ended by itself, and starts it again over its file. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** @param setUp lines of shell before the server takes the shell's place; "$FOLDER" is the folder */
export async function startWrappedRedis(setUp: string): Promise<WrappedRedis> {
  const server = await findRedisServer((line) => process.stderr.write(`${line}\n`));
  const folder = mkdtempSync(join(tmpdir(), "cb-"));
  const script = join(folder, "redis.sh");
  writeFileSync(script, `#!/bin/sh\nFOLDER=${folder}\n${setUp}\nexec ${server} "$@"\n`);
  chmodSync(script, 0o700);
  const start = (): Promise<PrivateRedis> => startPrivateRedis({ server: script, folder });
  let running = await start();

  async function kill(): Promise<void> {
    const { process: child } = running;
    if (hasEnded(child)) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }
  return {
    url: running.url,
    get pid() {
      return running.pid;
    },
    folder,
    async restart() {
      await kill();
      running = await start();
    },
    async close() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Why this machine cannot bound the files of a running process; undefined when it can. */
export function whyNoFileLimits(): string | undefined {
  try {
    execFileSync("prlimit", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "there is no prlimit here, which bounds the files of a running process (util-linux)";
  }
}

/** Why this machine cannot build what shifts the clock of Redis alone; undefined when it can. */
export function whyNoClockSteps(): string | undefined {
  try {
    execFileSync("cc", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "there is no cc here, which builds what shifts the clock of Redis alone (apt-get install gcc libc6-dev)";
  }
}

/** Lines of set-up for a Redis whose clock is wrong by the seconds in the file "clock" of its folder. */
export const CLOCK_STEPS = [
  `cc -shared -fPIC -O1 -o "$FOLDER/clock-step.so" ${join(__dirname, "clock-step.c")} || exit 1`,
  'export LD_PRELOAD="$FOLDER/clock-step.so" CLOCK_STEP_FILE="$FOLDER/clock"',
].join("\n");
