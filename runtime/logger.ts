import { destination, pino, type DestinationStream, type LogFn, type Logger } from "pino";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What is kept of entries that cannot be written, for when they can be again; later ones are dropped. */
const UNWRITTEN_MAX_BYTES = 1_048_576;

/** Entries of one kind that are written in a minute. */
const REPEATS_MAX = 100;
const MINUTE_MS = 60_000;
const FATAL = pino.levels.values["fatal"] ?? Infinity;
/** Kinds that are counted at once. Messages are the code's own, so there are fewer. */
const KINDS_MAX = 256;

/**
 * The log of a process: a JSON line an entry on stdout. What callers put in it
 * are ids, counts, names of errors and their stacks; never secrets, signatures,
 * bodies, message text or names of users.
 *
 * An entry is written before the call returns: none is lost or overtaken by a later
 * one when the process ends. Whoever takes the log must go on reading, as the process
 * waits for it; a log that cannot be written, on a full disk say, stops nothing.
 *
 * Of entries with the same level, message and `where`, REPEATS_MAX are written in a
 * minute; the rest are suppressed, and one more entry says how many. That bounds what
 * a hostile or broken caller can add to the log. Fatal entries are all written, and so
 * is every entry where the level is `debug` or `trace`.
 */
export function createLogger(process: string, level: LogLevel, to = openStdout()): Logger {
  const isLimited = level !== "debug" && level !== "trace";
  return pino(
    {
      level,
      base: { process },
      timestamp: pino.stdTimeFunctions.isoTime,
      ...(isLimited && { hooks: { logMethod: limitRepeats() } }),
    },
    to,
  );
}

function openStdout(): DestinationStream {
  const stdout = destination({ dest: 1, sync: true, maxLength: UNWRITTEN_MAX_BYTES });
  stdout.on("error", () => undefined);
  return stdout;
}

/** The hook that writes an entry, or counts it as suppressed. */
function limitRepeats() {
  interface Kind {
    seen: number;
    summarize(suppressed: number): void;
  }
  const kinds = new Map<string, Kind>();

  function forget(key: string, { seen, summarize }: Kind): void {
    kinds.delete(key);
    if (seen > REPEATS_MAX) summarize(seen - REPEATS_MAX);
  }

  function forgetAll(): void {
    for (const [key, kind] of kinds) forget(key, kind);
  }

  setInterval(forgetAll, MINUTE_MS).unref();
  process.once("exit", forgetAll);

  return function (this: Logger, args: Parameters<LogFn>, write: LogFn, level: number): void {
    if (level >= FATAL) return write.apply(this, args);
    const [first, second] = args as readonly unknown[];
    const message = String(typeof first === "string" ? first : second);
    const where = typeof first === "object" && first !== null && "where" in first ? first.where : undefined;
    const key = JSON.stringify([level, message, where]);
    let kind = kinds.get(key);
    if (kind === undefined) {
      const [oldest] = kinds;
      if (kinds.size >= KINDS_MAX && oldest !== undefined) forget(...oldest);
      kind = {
        seen: 0,
        summarize: (suppressed) =>
          write.call(this, { where, suppressed }, `repeated lines were suppressed: ${message}`),
      };
      kinds.set(key, kind);
    }
    kind.seen += 1;
    if (kind.seen <= REPEATS_MAX) write.apply(this, args);
  };
}
