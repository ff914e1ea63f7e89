import type { Options } from "./options";
import type { Scope } from "./scope";

/** The arguments of a part. */
export interface PartContext {
  readonly scope: Scope;
  readonly options: Options;
  say(line: string): void;
}

export interface PartResult {
  /** The summary, in a form for programs. */
  readonly lastLine: string;
  /** All measured values, for `--json`. */
  readonly raw: unknown;
}

/** One measurement of the benchmark. */
export interface Part {
  readonly name: string;
  /** Its description in the help, one line. */
  readonly what: string;
  run(context: PartContext): Promise<PartResult>;
}

/** Answers and stored events differ, or an answer is invalid, so the figures are worthless. */
export class CheckFault extends Error {
  override readonly name = "CheckFault";
}

export function check(holds: boolean, what: string): void {
  if (!holds) throw new CheckFault(what);
}
