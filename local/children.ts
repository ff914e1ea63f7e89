import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { logTail, spawnGuarded, stopChild } from "./guarded-child";
import { NODE_FLAGS } from "./node-flags";
import { StartFault } from "./start-fault";

/** A process of the service. */
export interface Child {
  readonly name: "redis" | "core" | "edge" | "game" | "chat";
  readonly process: ChildProcess;
  readonly logFile: string;
  stop(): Promise<void>;
}

/** They give up by themselves after ten seconds. */
const STOP_WITHIN_MS = 12_000;
const READY_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 25;
const PROBE_WITHIN_MS = 2_000;

/** Where each is, beside us. */
const FOLDERS = { core: "core", edge: "edge", game: "demo/game", chat: "demo/chat" } as const;

/** Starts a process of ours, and does not wait for it. */
export function startChild(name: keyof typeof FOLDERS, env: NodeJS.ProcessEnv, logFile: string): Child {
  const main = join(__dirname, "..", FOLDERS[name], "main.js");
  const child = spawnGuarded([process.execPath, ...NODE_FLAGS, main], { logFile, env });
  return { name, process: child, logFile, stop: () => stopChild(child, STOP_WITHIN_MS) };
}

/**
 * Waits until a child says that it is ready.
 *
 * @param health where it answers probes, host:port
 * @param signal aborted when there is no need to wait longer, as when it has ended
 */
export async function untilReady(child: Child, health: string, signal: AbortSignal): Promise<void> {
  const end = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const reason = await whyNotReady(health);
    signal.throwIfAborted();
    if (reason === undefined) return;
    if (performance.now() > end) throw fault(child, `is not ready in time: ${reason}`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** What to say of a child that was not asked to end. */
export function endedByItself(child: Child): StartFault {
  const { signalCode, exitCode } = child.process;
  return fault(child, `has ended by itself (${signalCode ?? `exit code ${exitCode}`})`);
}

function fault({ name, logFile }: Child, what: string): StartFault {
  return new StartFault(`${name} ${what}. Its log is ${logFile}, which ends with:\n${logTail(logFile)}`);
}

/** Undefined when it is ready. */
async function whyNotReady(health: string): Promise<string | undefined> {
  try {
    const answer = await fetch(`http://${health}/ready`, { signal: AbortSignal.timeout(PROBE_WITHIN_MS) });
    const { reason } = (await answer.json()) as { reason?: string };
    return answer.ok ? undefined : (reason ?? `status ${answer.status}`);
  } catch {
    return "it does not answer probes";
  }
}
