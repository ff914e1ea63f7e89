import { destination, pino, type Logger } from "pino";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What is kept of entries that cannot be written, for when they can be again; later ones are dropped. */
const UNWRITTEN_MAX_BYTES = 1_048_576;

/**
 * The log of a process: a JSON line an entry on stdout. What callers put in it
 * are ids, counts, names of errors and their stacks; never secrets, signatures,
 * bodies, message text or names of users.
 *
 * An entry is written before the call returns: none is lost or overtaken by a later
 * one when the process ends. Whoever takes the log must go on reading, as the process
 * waits for it; a log that cannot be written, on a full disk say, stops nothing.
 */
export function createLogger(process: string, level: LogLevel): Logger {
  const stdout = destination({ dest: 1, sync: true, maxLength: UNWRITTEN_MAX_BYTES });
  stdout.on("error", () => undefined);
  return pino({ level, base: { process }, timestamp: pino.stdTimeFunctions.isoTime }, stdout);
}
