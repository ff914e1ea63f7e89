import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { logTail, spawnGuarded, stopChild } from "./guarded-child";
import { StartFault } from "./start-fault";
import type { ChatName } from "./start-settings";

/** A process of the service or the demo. */
export interface Child {
  readonly name: "redis" | "core" | "edge" | "game" | "chat" | `${ChatName}-${"server" | "bridge"}`;
  readonly process: ChildProcess;
  readonly logFile: string;
  stop(): Promise<void>;
}

/**
 * Node flags for the processes of the service, as in the Dockerfile and docs/settings.md. The objects that a request or
 * a push creates are in use for a few milliseconds. Under load, Node's default young generation of 16 MB fills up while
 * these objects are still in use. Node then promotes many of these objects, and only a full garbage collection frees
 * promoted objects. With 64 MB, few objects are promoted.
 */
export const NODE_FLAGS: readonly string[] = ["--max-semi-space-size=64"];

/**
 * Milliseconds from SIGTERM to SIGKILL. This is longer than the 10 seconds to which each process limits its shutdown.
 */
const STOP_WITHIN_MS = 12_000;
const READY_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 25;
const PROBE_WITHIN_MS = 2_000;

/** Folder of each program, relative to the repository or to dist/. */
const FOLDERS = { core: "core", edge: "edge", game: "demo/game", chat: "demo/chat" } as const;

/**
 * Starts a process of the service or the demo, without waiting until the process is ready. `flags` are additional Node
 * flags.
 */
export function startChild(
  name: keyof typeof FOLDERS,
  env: NodeJS.ProcessEnv,
  logFile: string,
  flags: readonly string[] = [],
): Child {
  const main = join(__dirname, "../..", FOLDERS[name], "main.js");
  return startCommand(name, [process.execPath, ...NODE_FLAGS, ...flags, main], env, logFile);
}

/** Starts any other program, without waiting until the program is ready. */
export function startCommand(
  name: Child["name"],
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  logFile: string,
): Child {
  const child = spawnGuarded(command, { logFile, env });
  return { name, process: child, logFile, stop: () => stopChild(child, STOP_WITHIN_MS) };
}

/**
 * Waits until a child is ready. Throws StartFault when the child is not ready within 60 seconds.
 *
 * @param whyNotReady resolves to the reason why the child is not ready; undefined when it is ready
 * @param signal stops the wait, for example when the child has exited
 */
export async function untilReady(
  child: Child,
  whyNotReady: () => Promise<string | undefined>,
  signal: AbortSignal,
): Promise<void> {
  const end = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const reason = await whyNotReady();
    signal.throwIfAborted();
    if (reason === undefined) return;
    if (performance.now() > end) throw fault(child, `was not ready in time: ${reason}`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** Returns the error for a child that exited unexpectedly. */
export function endedByItself(child: Child): StartFault {
  const { signalCode, exitCode } = child.process;
  return fault(child, `stopped unexpectedly (${signalCode ?? `exit code ${exitCode}`})`);
}

function fault({ name, logFile }: Child, what: string): StartFault {
  return new StartFault(`${name} ${what}. Its log is ${logFile}, which ends with:\n${logTail(logFile)}`);
}

/** Resolves to the reason why a probe failed; undefined if it succeeded. */
export async function whyNotHealthy(url: string): Promise<string | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(PROBE_WITHIN_MS) });
    const { reason } = (await answer.json()) as { reason?: string };
    return answer.ok ? undefined : (reason ?? `status ${answer.status}`);
  } catch {
    return "it does not answer probes";
  }
}
