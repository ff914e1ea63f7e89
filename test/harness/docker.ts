import { execFileSync, spawnSync } from "node:child_process";

/**
 * Returns whether this machine has a Docker engine. If not, prints which tests are skipped.
 *
 * @param what what the skipped tests would do with the engine
 */
export function hasDocker(what: string): boolean {
  const found = spawnSync("docker", ["info"]).status === 0;
  if (!found) process.stderr.write(`SKIPPED: ${what} (this machine has no Docker engine)\n`);
  return found;
}

/** Runs a command of Docker, and returns what the command prints. Throws if the command fails. */
export function docker(...args: readonly string[]): string {
  return execFileSync("docker", args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
}
