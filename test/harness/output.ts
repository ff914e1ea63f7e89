import type { TestProcess } from "./processes";

/** All that a process says. */
export interface Output {
  /** Its log and what it wrote beside it. */
  text(): string;
  /** Entries of its log that tell of a fault that was not expected. */
  faults(): readonly Record<string, unknown>[];
}

const ERROR_LEVEL = 50;

/** Listens to a process. Call it as soon as the process has started. */
export function listenTo({ child, log }: TestProcess): Output {
  let beside = "";
  child.stderr?.on("data", (chunk: Buffer) => (beside += chunk.toString()));
  return {
    text: () => log.map((entry) => `${JSON.stringify(entry)}\n`).join("") + beside,
    faults: () => log.filter(({ level, err }) => Number(level) >= ERROR_LEVEL || err !== undefined),
  };
}

/** Fails when anything unexpected was logged, or when what must stay private was. */
export function expectQuiet(outputs: readonly Output[], secrets: readonly string[]): void {
  for (const output of outputs) {
    expect(output.faults()).toEqual([]);
    const text = output.text();
    // The traces of stacks, wherever they stand.
    expect(text).not.toMatch(/\bat [^"]*\.[jt]s:\d+/);
    for (const secret of secrets) expect(text).not.toContain(secret);
  }
}
