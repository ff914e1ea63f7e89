import { existsSync, statSync } from "node:fs";
import { parseEnv } from "node:util";
import { replaceDurably } from "chat-bridge-kit/durable-file";
import { SettingsError } from "../../../runtime/settings";
import { readText } from "../setting";
import type { Answers } from "./bridge-init";

/** Characters that need no quotes in a settings file. */
const PLAIN = /^[\w@%+=:,./~-]+$/;

/** Returns the settings in a file, and undefined if the file does not exist. */
export function readSettingsFile(path: string): Answers | undefined {
  if (!existsSync(path)) return undefined;
  if (!statSync(path).isFile()) throw new SettingsError([`--file names ${path}, which is not a file`]);
  return parseEnv(readText(path)) as Answers;
}

/** Writes the settings to a file that only its owner can read. Replaces the file if it exists. */
export async function writeSettingsFile(path: string, header: string, answers: Answers): Promise<void> {
  const lines = Object.entries(answers).map(([name, value]) => `${name}=${quoted(name, value)}`);
  await replaceDurably(path, `${header}\n${lines.join("\n")}\n`);
}

/**
 * Returns a value in quotes if necessary, so that `parseEnv` reads the same value. Throws `SettingsError` if this is
 * impossible.
 */
export function quoted(name: string, value: string): string {
  if (PLAIN.test(value)) return value;
  const isOneLine = !/[\r\n]/.test(value);
  const quote = ["'", "`", ...(value.includes("\\n") ? [] : ['"'])].find((each) => !value.includes(each));
  if (isOneLine && quote !== undefined) return `${quote}${value}${quote}`;
  throw new SettingsError([
    `${name} contains characters that a settings file cannot contain: set the variable ${name} instead`,
  ]);
}
