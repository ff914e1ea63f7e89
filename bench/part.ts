import type { Scope } from "./scope";

export interface Options {
  /** Number of rounds. Each round measures both sides: the service and the reference. */
  readonly rounds: number;
  /** Seconds of load for each side in a round. */
  readonly seconds: number;
  /** Factor for the sizes of the parts `memory` and `growth`. */
  readonly scale: number;
  /** The attacks of the part `neighbours`; undefined for all. */
  readonly attacks?: readonly string[];
  /** File for the raw figures. */
  readonly json?: string;
  /** Folder for CPU profiles of core and the edge. */
  readonly profile?: string;
}

/** The arguments of a part. */
export interface PartContext {
  readonly scope: Scope;
  readonly options: Options;
  say(line: string): void;
}

export interface PartResult {
  /** The summary, in a form that programs can parse. */
  readonly lastLine: string;
  /** All measured values, for `--json`. */
  readonly raw: unknown;
}

/** One measurement of the benchmark. */
export interface Part {
  readonly name: string;
  /** One-line description for the help. */
  readonly what: string;
  run(context: PartContext): Promise<PartResult>;
}

/**
 * Thrown when the number of answers differs from the number of stored events, or when an answer is invalid. The figures
 * are then worthless.
 */
export class CheckFault extends Error {
  override readonly name = "CheckFault";
}

export function check(holds: boolean, what: string): void {
  if (!holds) throw new CheckFault(what);
}
