import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync, renameSync } from "node:fs";
import type { Socket } from "node:net";

/**
 * Runs the program "$@" and a guard. The guard kills the program when descriptor 3 closes, which happens when the Node
 * process exits for any reason. If the guard reads a line from descriptor 3, the guard exits without killing the
 * program. `exec` replaces the shell with the program, so $$ is the process id of the program.
 */
const GUARDED = '{ read -r _ <&3 || kill $$; } >/dev/null 2>&1 & exec "$@" 3<&-';

export interface GuardedChildOptions {
  /** File for the output of the program. If the file exists, it is first renamed, with ".1" appended to its name. */
  readonly logFile: string;
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Starts a program, and a guard that kills the program when this process exits. The program has its own process group,
 * so Ctrl-C in a terminal reaches only this process. This process can then stop its programs in the right order.
 */
export function spawnGuarded(
  command: readonly string[],
  { logFile, env = process.env }: GuardedChildOptions,
): ChildProcess {
  if (existsSync(logFile)) renameSync(logFile, `${logFile}.1`);
  const log = openSync(logFile, "a", 0o600);
  try {
    const child = spawn("/bin/sh", ["-c", GUARDED, "guard", ...command], {
      stdio: ["ignore", log, log, "pipe"],
      detached: true,
      env,
    });
    const guard = child.stdio[3] as Socket | null | undefined;
    guard?.on("error", () => undefined).unref();
    child.once("exit", () => guard?.end("\n"));
    return child;
  } finally {
    closeSync(log);
  }
}

const TAIL_LINES = 10;
const TAIL_CHARACTERS = 4_000;

/** Returns the last lines of a log, indented. */
export function logTail(logFile: string): string {
  const lines = readFileSync(logFile, "utf8").slice(-TAIL_CHARACTERS).trimEnd().split("\n");
  return lines
    .slice(-TAIL_LINES)
    .map((line) => `  ${line}`)
    .join("\n");
}

export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/**
 * Stops a child with SIGTERM, and kills a child that is still running after `withinMs`. Does nothing if the child has
 * exited.
 */
export async function stopChild(child: ChildProcess, withinMs: number): Promise<void> {
  if (hasEnded(child) || child.pid === undefined) return;
  const exited = once(child, "exit");
  const late = setTimeout(() => child.kill("SIGKILL"), withinMs);
  child.kill("SIGTERM");
  await exited;
  clearTimeout(late);
}
