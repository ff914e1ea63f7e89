import { pino, type Logger } from "pino";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * The log of a process: a JSON line an entry on stdout. What callers put in it
 * are ids, counts, names of errors and their stacks; never secrets, signatures,
 * bodies, message text or names of users.
 */
export function createLogger(process: string, level: LogLevel): Logger {
  return pino({ level, base: { process }, timestamp: pino.stdTimeFunctions.isoTime });
}
