import { execFile } from "node:child_process";
import { join } from "node:path";
import { findReleaseBefore, RELEASE_BEFORE } from "../programs/release-before";
import { SECRETS_KEY, THIS_RELEASE, TOKENS } from "../harness/processes";
import { untilConnected, type Rig } from "../harness/rig";

/**
 * The folder of the previous release; empty if the release is not built on this machine. The tests are then skipped.
 */
export const BEFORE = findReleaseBefore() ?? "";
export const VERSION_BEFORE = RELEASE_BEFORE.version;
/** The store format of the previous release. */
export const FORMAT_BEFORE = "1";

/** `describe`, or `describe.skip` if the previous release could not be built. `global-setup` has printed why. */
export const describeUpgrade = BEFORE === "" ? describe.skip : describe;

export interface Outcome {
  /** The exit code; null if a signal ended the process. */
  readonly code: number | null;
  readonly output: string;
}

/** Runs a command of core, with core's settings, as docs/upgrade.md describes it. */
export function runCore(
  redisUrl: string,
  args: readonly string[],
  release = THIS_RELEASE,
  environment: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const env = {
    PATH: process.env["PATH"],
    REDIS_URL: redisUrl,
    SECRETS_KEY,
    CORE_TOKENS: `operator=${TOKENS.operator}`,
    CORE_LISTEN: "127.0.0.1:0",
    HEALTH_LISTEN: "127.0.0.1:0",
    ...environment,
  };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(release, "dist/core/main.js"), ...args],
      { env },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : ((error.code ?? null) as number | null);
        resolve({ code, output: `${stdout}${stderr}` });
      },
    );
  });
}

/** Migrates the data of a Redis. Fails unless the migration succeeds. */
export async function migrate(redisUrl: string, ...args: readonly string[]): Promise<string> {
  const { code, output } = await runCore(redisUrl, ["migrate", ...args]);
  if (code !== 0) throw new Error(`migrate exited with ${code}:\n${output}`);
  return output;
}

/** Stops all processes of a rig: edges last, so that bridges get an answer for as long as possible. */
export async function stopAll({ cores, edges }: Rig): Promise<void> {
  const codes = await Promise.all(cores.map((core) => core.stop()));
  codes.push(...(await Promise.all(edges.map((edge) => edge.stop()))));
  expect(codes).toEqual(codes.map(() => 0));
}

/** Starts all processes of a rig with a release, cores first. */
export async function startAll({ cores, edges }: Rig, release: string): Promise<void> {
  await Promise.all(cores.map((core) => core.start(release)));
  await Promise.all(cores.map(untilConnected));
  await Promise.all(edges.map((edge) => edge.start(release)));
}
