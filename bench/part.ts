import type { Options } from "./options";
import type { Scope } from "./scope";

/** What a part is given. */
export interface PartContext {
  readonly scope: Scope;
  readonly options: Options;
  say(line: string): void;
}

export interface PartResult {
  /** The line that sums it up, for programs to read. */
  readonly lastLine: string;
  /** Everything measured. */
  readonly raw: unknown;
}

/** One measurement of the benchmark. */
export interface Part {
  readonly name: string;
  /** One line for the help. */
  readonly what: string;
  run(context: PartContext): Promise<PartResult>;
}

/** What was answered and what was stored differ, or an answer was not as it must be: the figures mean nothing. */
export class CheckFault extends Error {
  override readonly name = "CheckFault";
}

export function check(holds: boolean, what: string): void {
  if (!holds) throw new CheckFault(what);
}
