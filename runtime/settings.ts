import ipaddr from "ipaddr.js";
import { misspelledSettings } from "./misspelled-settings";
import { PEM_MAX_BYTES, readBounded, type NamedFile } from "./read-file";

/** An address to listen on or to connect to. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** An error that lists all faults of a process's settings, one per line. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
  constructor(readonly faults: readonly string[]) {
    super(["cannot start: these settings are invalid:", ...faults.map((fault) => `  - ${fault}`)].join("\n"));
  }
}

/** Reads settings one by one and collects their faults. */
export interface Settings {
  /**
   * The text of a setting, or `fallback` when the setting is unset or empty. Without `fallback`, the setting is
   * required.
   */
  text(name: string, what: string, fallback?: string): string;
  /**
   * The value that `parse` returns for the text of a setting. When `parse` throws an `Error`, the fault is the
   * setting's name, followed by the error's message and `what`.
   */
  parsed<T>(name: string, what: string, parse: (text: string) => T, fallback?: string): T;
  /** A setting of the form "host:port" or "[host]:port". */
  hostPort(name: string, what: string, fallback?: string): HostPort;
  integer(name: string, what: string, range: { min: number; max: number }, fallback: number): number;
  /** A setting that is one of `choices`. */
  choice<T extends string>(name: string, choices: readonly T[], fallback: T): T;
  /** The content of the file that a setting names; undefined when the setting is unset. */
  file(name: string, what: string): Buffer | undefined;
  /** The file that a setting names, for a process that reads the file again; undefined when the setting is unset. */
  namedFile(
    name: string,
    what: string,
    bounds?: { readonly maxBytes?: number; readonly isSecret?: boolean },
  ): NamedFile | undefined;
  /** Whether a setting is set and not empty. */
  isSet(name: string): boolean;
  /** Adds a fault that concerns several settings. */
  fault(line: string): void;
}

/** The settings of a process. */
export type Read<T> = Readonly<T> & {
  /** One line for each variable that is probably a misspelled setting. The process must log these lines as warnings. */
  readonly misspelled: readonly string[];
};

/**
 * Reads a process's settings with `read`. Throws one `SettingsError` that lists
 * every fault. The error contains no values, because they may be secret.
 */
export function readSettings<T extends object>(
  environment: Readonly<Record<string, string | undefined>>,
  read: (settings: Settings) => T,
): Read<T> {
  const faults: string[] = [];
  const known = new Set<string>();

  function isSet(name: string): boolean {
    known.add(name);
    return Boolean(environment[name]);
  }

  function parsed<V>(name: string, what: string, parse: (text: string) => V, fallback?: string): V {
    const text = isSet(name) ? environment[name] : fallback;
    if (text === undefined) {
      faults.push(`${name} is missing: ${what}`);
      return undefined as V; // The process never gets this value: the faults are thrown below.
    }
    try {
      return parse(text);
    } catch (error) {
      faults.push(`${name} ${error instanceof Error ? error.message : "is not valid"}: ${what}`);
      return undefined as V;
    }
  }

  const settings: Settings = {
    parsed,
    text: (name, what, fallback) => parsed(name, what, (text) => text, fallback),
    hostPort: (name, what, fallback) => parsed(name, what, parseHostPort, fallback),
    integer: (name, what, { min, max }, fallback) =>
      parsed(
        name,
        what,
        (text) => {
          const number = /^\d+$/.test(text) ? Number(text) : NaN;
          if (!(number >= min && number <= max)) throw new Error(`must be an integer from ${min} to ${max}`);
          return number;
        },
        String(fallback),
      ),
    choice: (name, choices, fallback) =>
      parsed(
        name,
        `one of ${choices.join(", ")}`,
        (text) => {
          const choice = choices.find((each) => each === text);
          if (choice === undefined) throw new Error("is not a valid choice");
          return choice;
        },
        fallback,
      ),
    isSet,
    file: (name, what) => settings.namedFile(name, what)?.bytes,
    namedFile: (name, what, { maxBytes = PEM_MAX_BYTES, isSecret = false } = {}) =>
      isSet(name)
        ? parsed(name, what, (path) => {
            const bytes = readBounded(path, maxBytes);
            return { setting: name, path, bytes, maxBytes, isSecret };
          })
        : undefined,
    fault: (line) => faults.push(line),
  };

  const result = read(settings);
  const misspelled = misspelledSettings(environment, known);
  if (faults.length > 0) throw new SettingsError([...faults, ...misspelled]);
  return Object.freeze({ ...result, misspelled });
}

/** Parses `host:port`. Throws if the text does not have this form. */
export function parseHostPort(text: string): HostPort {
  const form = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text);
  const host = form?.[1] ?? form?.[2];
  const port = Number(form?.[3]);
  if (host === undefined || port > 65_535) throw new Error("must be host:port");
  return { host, port };
}

/** Returns the address in the form that URLs and gRPC targets use. */
export function formatHostPort({ host, port }: HostPort): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Returns whether only this machine can reach a listener on `host`. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || (ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback");
}

/** Returns the entries of a comma-separated list. */
export function parseList(text: string): readonly string[] {
  return text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}
