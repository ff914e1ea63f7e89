import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync, renameSync } from "node:fs";
import type { Socket } from "node:net";

/**
 * Runs "$@", and beside it a guard that ends it when descriptor 3 closes: that
 * is when we are gone, however we went. A line on descriptor 3 sends the guard
 * home instead. The guard is a child of what it guards and names it by the
 * process id that the shell hands over in `exec`.
 */
const GUARDED = '{ read -r _ <&3 || kill $$; } >/dev/null 2>&1 & exec "$@" 3<&-';

export interface GuardedChildOptions {
  /** What it prints goes straight there; the log of the run before is kept beside it, with ".1" after its name. */
  readonly logFile: string;
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Starts a program that does not outlive this process. It has a process group of
 * its own, so that Ctrl-C in a terminal reaches only us and we stop things in
 * order.
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

/** The last lines that a child printed. */
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

/** Asks a child to stop, and ends it when it has not within the bound. Harmless when it has ended. */
export async function stopChild(child: ChildProcess, withinMs: number): Promise<void> {
  if (hasEnded(child) || child.pid === undefined) return;
  const exited = once(child, "exit");
  const late = setTimeout(() => child.kill("SIGKILL"), withinMs);
  child.kill("SIGTERM");
  await exited;
  clearTimeout(late);
}
