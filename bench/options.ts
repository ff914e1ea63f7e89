import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { ATTACK_NAMES } from "./neighbours/attacks";
import type { Options, Part } from "./part";

const EXIT_USAGE = 2;
const SLICES_MAX = 1_000;
const ROUNDS_MAX = 20;
/**
 * Maximum seconds of load. The requests of a round are signed before the round starts, and the round must end before
 * the signatures expire.
 */
const SECONDS_MAX = 60;

/**
 * Creates the command-line program, which calls `run` with the parts that the user names, or with all parts by default.
 */
export function createProgram(
  all: readonly Part[],
  run: (parts: readonly Part[], options: Options) => Promise<void>,
): Command {
  return new Command("npm run bench --")
    .description("Measures the speed and the cost of the service on this machine.")
    .addArgument(
      new Argument("[part...]", "parts to run, all by default").choices(all.map(({ name }) => name)),
    )
    .option(
      "--slices <n>",
      "pairs of half-second slices, one of the service and one of the reference",
      wholeBetween(1, SLICES_MAX),
      36,
    )
    .option("--rounds <n>", "rounds of the parts without slices", wholeBetween(1, ROUNDS_MAX), 3)
    .option("--seconds <n>", "seconds of load in a round", between(1, SECONDS_MAX), 8)
    .option(
      "--scale <n>",
      "factor, at most 1, for the sizes in the parts list, memory and growth",
      between(0.001, 1),
      1,
    )
    .addOption(
      new Option("--attacks <name...>", "attacks of the part neighbours, all by default").choices(
        ATTACK_NAMES,
      ),
    )
    .option("--json <file>", "write the raw figures and the machine's properties to a file")
    .option(
      "--against <folder>",
      "compare with the service of another checkout, which must be built, instead of the reference",
    )
    .option(
      "--profile <dir>",
      "write CPU profiles of core, the edge and the reference to a folder; this slows them down",
    )
    .addHelpText(
      "after",
      `
Parts:
${all.map(({ name, what }) => `  ${name.padEnd(12)} ${what}`).join("\n")}

Each part starts its own Redis, core and edge on loopback, and removes everything
afterwards. Redis writes durably. See bench/README.md for what each part compares.`,
    )
    .action((names: readonly string[], options: Options, command: Command) => {
      const able = options.against === undefined ? all : all.filter(({ comparesBuilds }) => comparesBuilds);
      const chosen = names.flatMap((name) => able.filter((part) => part.name === name));
      if (chosen.length < names.length)
        command.error(`error: --against works with ${able.map(({ name }) => name).join(", ")}`);
      return run(names.length === 0 ? able : chosen, options);
    })
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_USAGE));
}

function between(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!(value >= min && value <= max)) throw new InvalidArgumentError(`It must be from ${min} to ${max}.`);
    return value;
  };
}

function wholeBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = between(min, max)(text);
    if (!Number.isInteger(value)) throw new InvalidArgumentError("It must be a whole number.");
    return value;
  };
}
