import type { LogLine, RunningProcess } from "./processes";

const ERROR_LEVEL = 50;

/** All that a process printed, in its log and outside it. */
export function outputOf({ log, errors }: RunningProcess): string {
  return log.map((line) => `${JSON.stringify(line)}\n`).join("") + errors;
}

/** The lines of a log that report an unexpected fault. */
export function faultsIn({ log }: RunningProcess): readonly LogLine[] {
  return log.filter(({ level, err }) => Number(level) >= ERROR_LEVEL || err !== undefined);
}

/** Fails when a process logged anything unexpected, a stack trace, or one of `secrets`. */
export function expectQuiet(processes: readonly RunningProcess[], secrets: readonly string[]): void {
  for (const each of processes) {
    expect(faultsIn(each)).toEqual([]);
    const text = outputOf(each);
    expect(text).not.toMatch(/\bat [^"]*\.[jt]s:\d+/);
    for (const secret of secrets) expect(text).not.toContain(secret);
  }
}
