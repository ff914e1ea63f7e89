import { parseArgs } from "node:util";

export interface Options {
  /** Number of rounds; each measures ours and the reference. */
  readonly rounds: number;
  /** Seconds of load for each of them in a round. */
  readonly seconds: number;
  /** Factor for the sizes of `memory` and `growth`. */
  readonly scale: number;
  /** File for the raw figures. */
  readonly json: string | undefined;
  /** Folder for CPU profiles of core and the edge. */
  readonly profile: string | undefined;
}

/** An invalid option, or a missing program, with a message for the user. */
export class UsageFault extends Error {
  override readonly name = "UsageFault";
}

const ROUNDS_MAX = 20;
/** Requests are signed before their round, and a signature is valid for five minutes. */
const SECONDS_MAX = 60;

export function readOptions(args: readonly string[]): {
  readonly parts: readonly string[];
  readonly help: boolean;
  readonly options: Options;
} {
  const { values, positionals } = parse(args);
  const number = (name: string, text: string, min: number, max: number): number => {
    const value = Number(text);
    if (!(value >= min && value <= max)) throw new UsageFault(`--${name} must be from ${min} to ${max}`);
    return value;
  };
  const rounds = number("rounds", values.rounds, 1, ROUNDS_MAX);
  if (!Number.isInteger(rounds)) throw new UsageFault("--rounds must be a whole number");
  return {
    parts: positionals,
    help: values.help,
    options: {
      rounds,
      seconds: number("seconds", values.seconds, 1, SECONDS_MAX),
      scale: number("scale", values.scale, 0.001, 1),
      json: values.json,
      profile: values.profile,
    },
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: "boolean", short: "h", default: false },
        rounds: { type: "string", default: "3" },
        seconds: { type: "string", default: "8" },
        scale: { type: "string", default: "1" },
        json: { type: "string" },
        profile: { type: "string" },
      },
    });
  } catch (error) {
    throw new UsageFault((error as Error).message);
  }
}
