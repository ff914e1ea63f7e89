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
 * ten seconds. Faulty settings are one message on stderr and exit code 78.
 */
export async function runProcess(
  start: (stopping: AbortSignal) => Promise<{ running: Running; log: Logger }>,
): Promise<void> {
  const stopping = new AbortController();
  const asked = new Promise<NodeJS.Signals>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, resolve);
  });
  void asked.then(() => stopping.abort());
  try {
    const { running, log } = await start(stopping.signal);
    const signal = await asked;
    log.info({ signal }, "stopping");
    const late = setTimeout(() => {
      log.error("did not stop in time, giving up");
      process.exit(1);
    }, STOP_WITHIN_MS);
    await running.close();
    clearTimeout(late);
    log.info("stopped");
    process.exit(0);
  } catch (error) {
    if (stopping.signal.aborted) process.exit(0);
    const settings = error instanceof SettingsError;
    process.stderr.write(`${settings ? error.message : `cannot start: ${startFault(error)}`}\n`);
    process.exit(settings ? EXIT_BAD_SETTINGS : 1);
  }
}

function startFault(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
