import { readFileSync } from "node:fs";
import { withoutByteOrderMark } from "chat-bridge-kit";
import { parseBlocks, type AddressBlock } from "../../runtime/public-address";
import { parseList, type HostPort, type Settings } from "../../runtime/settings";

/** A setting of a program, with its meaning and a function that reads its value. */
export interface Setting<T> {
  /** Meaning of the setting, as shown by `--help` and in errors. */
  readonly what: string;
  /** The default as text: "" if the setting is optional and has no default, undefined if the setting is required. */
  readonly fallback: string | undefined;
  /** Whether the variable `<NAME>_FILE` may name a file with the value instead. */
  readonly isSecret?: boolean;
  /** Returns the value. Reports a fault through `settings`. */
  read(settings: Settings, name: string): T;
}

/** The settings of a program, keyed by the name of the environment variable. */
export type SettingTable = Readonly<Record<string, Setting<unknown>>>;

/** The values of the settings of a table, by name. */
export type ValuesOf<Table extends SettingTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Setting<infer T> ? T : never;
};

/** A string; the setting is required if `fallback` is undefined. */
export function text(what: string, fallback?: string): Setting<string> {
  return { what, fallback, read: (settings, name) => settings.text(name, what, fallback) };
}

/** A string without a default; undefined if the setting is unset. */
export function optional(what: string): Setting<string | undefined> {
  return { what, fallback: "", read: (settings, name) => settings.text(name, what, "") || undefined };
}

/** A required secret, given in the setting itself or in a file that `<NAME>_FILE` names. */
export function secret(what: string): Setting<string> {
  return { ...text(what), isSecret: true };
}

/** An optional secret, given in the setting itself or in a file that `<NAME>_FILE` names. */
export function optionalSecret(what: string): Setting<string | undefined> {
  return { ...optional(what), isSecret: true };
}

export function integer(
  what: string,
  range: { readonly min: number; readonly max: number },
  fallback: number,
): Setting<number> {
  return {
    what: `${what} (${range.min} to ${range.max})`,
    fallback: String(fallback),
    read: (settings, name) => settings.integer(name, what, range, fallback),
  };
}

/** A setting whose value is one of `choices`. */
export function choice<T extends string>(what: string, choices: readonly T[], fallback: T): Setting<T> {
  return {
    what: `${what} (${choices.join(", ")})`,
    fallback,
    read: (settings, name) => settings.choice(name, choices, fallback),
  };
}

/** A switch: the value is true for "on", and false for "off". */
export function flag(what: string, fallback: "on" | "off"): Setting<boolean> {
  const words = choice(what, ["on", "off"], fallback);
  return { ...words, read: (settings, name) => words.read(settings, name) === "on" };
}

/** An address of the form host:port; undefined if neither the setting nor `fallback` gives one. */
export function hostPort(what: string, fallback = ""): Setting<HostPort | undefined> {
  return {
    what: `${what} (host:port)`,
    fallback,
    // An unset setting without a default is read as "".
    read: (settings, name) =>
      settings.text(name, what, fallback) === "" ? undefined : settings.hostPort(name, what, fallback),
  };
}

/** Entries separated by commas. */
export function list(what: string, fallback?: string): Setting<readonly string[]> {
  return {
    what: `${what} (separated by commas)`,
    fallback,
    read: (settings, name) => settings.parsed(name, what, parseList, fallback),
  };
}

/** Blocks of addresses in CIDR notation; none by default. */
export function blocks(what: string): Setting<readonly AddressBlock[]> {
  const parse = (value: string) => parseBlocks(parseList(value));
  return {
    what: `${what} (separated by commas)`,
    fallback: "",
    read: (settings, name) => settings.parsed(name, what, parse, ""),
  };
}

/** A URL that begins with http:// or https://. */
export function httpUrl(what: string, fallback?: string): Setting<string> {
  return { what, fallback, read: (settings, name) => settings.parsed(name, what, parseHttpUrl, fallback) };
}

/** The content of a file; undefined if the setting is unset. */
export function optionalFile(what: string): Setting<Buffer | undefined> {
  return { what: `file: ${what}`, fallback: "", read: (settings, name) => settings.file(name, what) };
}

function parseHttpUrl(value: string): string {
  if (!/^https?:\/\//.test(value) || !URL.canParse(value)) throw new Error("must be an http or https URL");
  return value.replace(/\/+$/, "");
}

/**
 * Returns the environment, and adds the secrets from the files that the variables `<NAME>_FILE` name. A byte order mark
 * and the line breaks at the end of the file are not part of the secret. Calls `fault` for each file that cannot be
 * read.
 */
export function withSecretFiles(
  table: SettingTable,
  environment: Readonly<Record<string, string | undefined>>,
  fault: (line: string) => void,
): Readonly<Record<string, string | undefined>> {
  const read: Record<string, string> = {};
  for (const [name, { isSecret }] of Object.entries(table)) {
    const path = environment[`${name}_FILE`];
    if (!isSecret || !path) continue;
    try {
      read[name] = readText(path).replace(/[\r\n]+$/, "");
    } catch {
      fault(`${name}_FILE names a file that cannot be read: give the path of a file with the secret`);
      // This placeholder avoids a second error about the same secret.
      read[name] = "unreadable";
    }
  }
  return { ...environment, ...read };
}

/** Returns the text of a file, without the byte order mark that some editors write at its beginning. */
export function readText(path: string): string {
  return withoutByteOrderMark(readFileSync(path, "utf8"));
}
