import type { Logger } from "pino";
import { SettingsError } from "./settings";

/** A fault that a restart does not fix, e.g. stored data that this release cannot use. The message says what to do. */
export class LastingFault extends Error {
  override readonly name = "LastingFault";
}

/** A program that runs until `close` is called. Calling `close` again is harmless. */
export interface Running {
  /** Milliseconds between `beginDrain` and `close`; undefined or 0 if the program closes immediately. */
  readonly drainMs?: number;
  /**
   * Resolves when the program must stop all work because of a fault. The process logs the fault and exits with code 78,
   * without calling `close`.
   */
  readonly failed?: Promise<LastingFault>;
  /** Makes the program report that it is not ready. The program continues to accept and answer requests. */
  beginDrain?(): void;
  close(): Promise<void>;
}

const STOP_WITHIN_MS = 10_000;
const EXIT_BAD_SETTINGS = 78; // EX_CONFIG

/**
 * Starts a process, and stops it on SIGTERM or SIGINT (graceful shutdown). No handler catches uncaught exceptions or
 * unhandled rejections, so Node ends the process with code 1. A process with `drainMs` first drains for this time, or
 * until the second signal. Invalid settings, e.g. a port that is in use, or a `LastingFault` at the start result in one
 * message on stderr and exit code 78. Any other fault at the start results in a message and exit code 1. If `close`
 * fails, or takes more than 10 seconds after the drain, the process logs this and exits with code 1.
 */
export async function runProcess(
  start: (stopping: AbortSignal) => Promise<{ running: Running; log: Logger }>,
): Promise<void> {
  const stopping = new AbortController();
  const again = new AbortController();
  const asked = new Promise<NodeJS.Signals>((resolve) => {
    function ask(signal: NodeJS.Signals): void {
      if (stopping.signal.aborted) again.abort();
      stopping.abort();
      resolve(signal);
    }
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, ask);
  });
  let started: { running: Running; log: Logger };
  try {
    started = await start(stopping.signal);
  } catch (error) {
    if (stopping.signal.aborted) process.exit(0);
    const settings = error instanceof SettingsError;
    process.stderr.write(`${settings ? error.message : `cannot start: ${startFault(error)}`}\n`);
    process.exit(settings || error instanceof LastingFault ? EXIT_BAD_SETTINGS : 1);
  }
  const { running, log } = started;
  void running.failed?.then(({ message }) => {
    log.fatal(message);
    process.exit(EXIT_BAD_SETTINGS);
  });
  const signal = await asked;
  if (running.drainMs) {
    log.info({ signal, seconds: running.drainMs / 1_000 }, "draining");
    running.beginDrain?.();
    await elapsed(running.drainMs, again.signal);
  }
  log.info({ signal }, "stopping");
  const late = setTimeout(() => {
    log.error("did not stop within 10 seconds: exiting");
    process.exit(1);
  }, STOP_WITHIN_MS);
  try {
    await running.close();
  } catch (error) {
    log.error({ err: error }, "could not stop cleanly");
    process.exit(1);
  }
  clearTimeout(late);
  log.info("stopped");
  process.exit(0);
}

/** Resolves after `ms` milliseconds, or as soon as `signal` is aborted. */
function elapsed(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, signal.aborted ? 0 : ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function startFault(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
