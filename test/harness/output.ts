import type { LogLine, RunningProcess } from "./processes";

/** Whether a log line is a warning or an error. */
export const isWarning = (line: LogLine): boolean => line["level"] === "warn" || isError(line);
/** Whether a log line is an error. */
export const isError = ({ level }: LogLine): boolean => level === "error" || level === "fatal";

/** Returns everything that a process printed: the log lines, and then stderr. */
export function outputOf({ log, errors }: RunningProcess): string {
  return log.map((line) => `${JSON.stringify(line)}\n`).join("") + errors;
}

/**
 * Fails if a process logged an error other than `expected`, or printed a stack trace or one of `secrets`.
 */
export function expectQuiet(
  processes: readonly RunningProcess[],
  secrets: readonly string[],
  expected?: string,
): void {
  for (const each of processes) {
    const isUnexpected = (line: LogLine) =>
      (isError(line) && line["msg"] !== expected) || line["err"] !== undefined;
    expect(each.log.filter(isUnexpected)).toEqual([]);
    const text = outputOf(each);
    expect(text).not.toMatch(/\bat [^"]*\.[jt]s:\d+/);
    for (const secret of secrets) expect(text).not.toContain(secret);
  }
}
