import type { LogLine, RunningProcess } from "./processes";

const ERROR_LEVEL = 50;

/** Returns everything that a process printed: the log lines, and then stderr. */
export function outputOf({ log, errors }: RunningProcess): string {
  return log.map((line) => `${JSON.stringify(line)}\n`).join("") + errors;
}

/** Fails when a process logged an error, or printed a stack trace or one of `secrets`. */
export function expectQuiet(processes: readonly RunningProcess[], secrets: readonly string[]): void {
  for (const each of processes) {
    const isUnexpected = ({ level, err }: LogLine) => Number(level) >= ERROR_LEVEL || err !== undefined;
    expect(each.log.filter(isUnexpected)).toEqual([]);
    const text = outputOf(each);
    expect(text).not.toMatch(/\bat [^"]*\.[jt]s:\d+/);
    for (const secret of secrets) expect(text).not.toContain(secret);
  }
}
