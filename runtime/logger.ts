import { destination, pino, type DestinationStream, type LogFn, type Logger } from "pino";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Maximum bytes of entries that are kept while the log cannot be written. Further entries are dropped. */
const UNWRITTEN_MAX_BYTES = 1_048_576;

/** Maximum number of entries of one kind that are written each minute. The comment on `createLogger` defines kinds. */
const REPEATS_MAX = 100;
const MINUTE_MS = 60_000;
const FATAL = pino.levels.values["fatal"] ?? Infinity;
/**
 * Maximum number of kinds that are counted at the same time. The code logs fewer kinds, because all messages are
 * constants.
 */
const KINDS_MAX = 256;

/**
 * The log of a process: one JSON line on stdout for each entry, with the name of its level. Callers may log ids,
 * counts, and the names and stacks of errors. Because nothing is redacted, callers must never log secrets, signatures,
 * bodies, message text or names of users.
 *
 * An entry is written before the call returns, so no entry is lost or reordered when the process stops. If the
 * reader of stdout stops reading, the process waits until the reader continues. A log that cannot be written, e.g.
 * on a full disk, does not stop the process.
 *
 * Entries with the same level, message, `where` and `by` (the name of a token) are one kind. Each minute, at most
 * `REPEATS_MAX` entries of a kind are written; further entries are suppressed, and one summary entry gives their
 * number. This limits how much a hostile or broken client can add to the log. Fatal entries are always written. At
 * level `debug` or `trace`, every entry is written. Core and the edge write no entries of these two levels, and no
 * program writes entries of the level `trace`.
 */
export function createLogger(process: string, level: LogLevel, to = openStdout()): Logger {
  const isLimited = level !== "debug" && level !== "trace";
  return pino(
    {
      level,
      base: { process },
      formatters: { level: (label) => ({ level: label }) },
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

/** Returns a pino hook that writes an entry, or counts the entry as suppressed. */
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
    const fields = typeof first === "object" && first !== null ? first : {};
    const { where, by } = fields as { readonly where?: unknown; readonly by?: unknown };
    const key = JSON.stringify([level, message, where, by]);
    let kind = kinds.get(key);
    if (kind === undefined) {
      const [oldest] = kinds;
      if (kinds.size >= KINDS_MAX && oldest !== undefined) forget(...oldest);
      kind = {
        seen: 0,
        summarize: (suppressed) =>
          write.call(this, { where, by, suppressed }, `repeated lines were suppressed: ${message}`),
      };
      kinds.set(key, kind);
    }
    kind.seen += 1;
    if (kind.seen <= REPEATS_MAX) write.apply(this, args);
  };
}
