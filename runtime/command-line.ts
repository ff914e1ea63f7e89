import { parseArgs } from "node:util";
import { VERSION_TEXT } from "./version";

const EXIT_USAGE = 64; // EX_USAGE

/** A program that is configured by settings, not by arguments. */
interface ServerProgram {
  /** The program's file in dist, e.g. "core/main.js". */
  readonly file: string;
  /** One sentence about what the program does. */
  readonly purpose: string;
  /** The page and section of the documentation that lists the program's settings. */
  readonly settings: string;
  /** A description of each command of the program, by the command's name. */
  readonly commands?: Readonly<Record<string, string>>;
}

/**
 * Handles the arguments of a server: for `--version` or `--help`, prints the version or the help, and exits with code
 * 0. For any other argument, exits with code 64. Returns when there are no arguments.
 */
export function answerArguments(program: ServerProgram, args = process.argv.slice(2)): void {
  let values;
  try {
    const options = { help: { type: "boolean", short: "h" }, version: { type: "boolean" } } as const;
    ({ values } = parseArgs({ args, options, strict: true }));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n--help lists the options\n`);
    process.exit(EXIT_USAGE);
  }
  if (values.version === true) print(VERSION_TEXT);
  if (values.help === true) print(helpOf(program));
}

function print(text: string): never {
  process.stdout.write(`${text}\n`);
  process.exit(0);
}

function helpOf({ file, purpose, settings, commands = {} }: ServerProgram): string {
  const more = Object.entries(commands).map(
    ([command, what]) => `  node dist/${file} ${command}   ${what}\n`,
  );
  return `${purpose}

  node dist/${file}             run with the settings of the environment
  node dist/${file} --help      print this page
  node dist/${file} --version   print the version
${more.join("")}
All settings are environment variables: see ${settings}.`;
}
