import type { Scope } from "./scope";

export interface Options {
  /** Number of pairs of slices, in the parts that compare processor times. */
  readonly slices: number;
  /** Number of rounds, in the parts without slices. */
  readonly rounds: number;
  /** Seconds of load in a round. */
  readonly seconds: number;
  /** Factor for the sizes of the parts `list`, `memory` and `growth`. */
  readonly scale: number;
  /** The attacks of the part `neighbours`; undefined for all. */
  readonly attacks?: readonly string[];
  /** File for the raw figures. */
  readonly json?: string;
  /** Folder of another checkout, whose built service replaces the reference. */
  readonly against?: string;
  /** Folder for CPU profiles of core, the edge and the reference. */
  readonly profile?: string;
}

/** The arguments of a part. */
export interface PartContext {
  readonly scope: Scope;
  readonly options: Options;
  say(line: string): void;
}

export interface PartResult {
  /** The figure of the part, for which `limits.ts` may have a limit. */
  readonly figure?: number;
  /** A summary line that programs can parse. */
  readonly lastLine: string;
  /** Milliseconds that the reads from memory took before each slice, if the part has slices. */
  readonly memoryMs?: readonly number[];
  /** The costs of the pairs of slices, if the figure is their median. */
  readonly costs?: readonly number[];
  /** All measured values, for `--json`. */
  readonly raw: unknown;
}

/** One measurement of the benchmark. */
export interface Part {
  readonly name: string;
  /** One-line description for the help. */
  readonly what: string;
  /** Whether the part supports the option `--against`. */
  readonly comparesBuilds?: boolean;
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
