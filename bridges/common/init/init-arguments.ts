import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { SettingTable } from "../setting";
import type { Answers } from "./bridge-init";
import { flagOf } from "./collect-answers";

/** The command line of `init`. */
export interface InitArguments {
  /** The settings file to write. */
  readonly file: string;
  readonly replace: boolean;
  readonly ignoreProblems: boolean;
  readonly help: boolean;
  readonly workspaceName: string | undefined;
  /** The settings from flags. For a secret, the flag names a file. */
  readonly answers: Answers;
}

/** Reads the command line of `init`. Throws an `Error` whose message is for the user. */
export function readInitArguments(
  args: readonly string[],
  table: SettingTable,
  standardFile: string,
): InitArguments {
  const flags = new Map<string, string>();
  for (const [name, { isSecret }] of Object.entries(table)) {
    flags.set(flagOf(name).slice(2) + (isSecret ? "-file" : ""), isSecret ? `${name}_FILE` : name);
    const secretFlag = flagOf(name);
    if (isSecret && args.some((arg) => arg === secretFlag || arg.startsWith(`${secretFlag}=`))) {
      throw new Error(
        `${secretFlag} is not an option, because other users of this machine can read arguments: ` +
          `set the variable ${name}, or give a file with ${secretFlag}-file`,
      );
    }
  }
  const own = {
    file: { type: "string" },
    replace: { type: "boolean" },
    "ignore-problems": { type: "boolean" },
    help: { type: "boolean", short: "h" },
    "workspace-name": { type: "string" },
  } as const;
  const ofSettings = Object.fromEntries([...flags.keys()].map((flag) => [flag, { type: "string" as const }]));
  const { values } = parseArgs({ args: [...args], options: { ...ofSettings, ...own }, strict: true });
  const answers: Record<string, string> = {};
  for (const [flag, name] of flags) {
    const value = (values as Readonly<Record<string, unknown>>)[flag];
    if (typeof value === "string") answers[name] = name.endsWith("_FILE") ? resolve(value) : value;
  }
  return {
    file: resolve(values.file ?? standardFile),
    replace: values.replace === true,
    ignoreProblems: values["ignore-problems"] === true,
    help: values.help === true,
    workspaceName: values["workspace-name"],
    answers,
  };
}
