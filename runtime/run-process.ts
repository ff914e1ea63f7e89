import type { Logger } from "pino";
import { SettingsError } from "./settings";

/** Something that runs until it is closed; closing twice is harmless. */
export interface Running {
  close(): Promise<void>;
}

const STOP_WITHIN_MS = 10_000;
const EXIT_BAD_SETTINGS = 78; // EX_CONFIG

/**
 * Runs a process: starts it, and on SIGTERM or SIGINT stops it gracefully within
 * ten seconds. Faulty settings are one message on stderr and exit code 78; what
 * could not be closed, or not in time, is logged: exit code 1.
 */
export async function runProcess(
  start: (stopping: AbortSignal) => Promise<{ running: Running; log: Logger }>,
): Promise<void> {
  const stopping = new AbortController();
  const asked = new Promise<NodeJS.Signals>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, resolve);
  });
  void asked.then(() => stopping.abort());
  let started: { running: Running; log: Logger };
  try {
    started = await start(stopping.signal);
  } catch (error) {
    if (stopping.signal.aborted) process.exit(0);
    const settings = error instanceof SettingsError;
    process.stderr.write(`${settings ? error.message : `cannot start: ${startFault(error)}`}\n`);
    process.exit(settings ? EXIT_BAD_SETTINGS : 1);
  }
  const { running, log } = started;
  const signal = await asked;
  log.info({ signal }, "stopping");
  const late = setTimeout(() => {
    log.error("did not stop in time, giving up");
    process.exit(1);
  }, STOP_WITHIN_MS);
  try {
    await running.close();
  } catch (error) {
    log.error({ err: error }, "did not stop as it should");
    process.exit(1);
  }
  clearTimeout(late);
  log.info("stopped");
  process.exit(0);
}

function startFault(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
