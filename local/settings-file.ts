import { randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { StartFault } from "./start-fault";

/** The demo workspace as its bridge knows it. */
export interface DemoWorkspace {
  readonly id: string;
  readonly secret: string;
}

/** What is made at the first start and kept, as secret as it is. */
export interface KeptSettings {
  /** Encrypts the signing secrets in Redis. */
  readonly secretsKey: string;
  readonly tokens: { readonly edge: string; readonly game: string; readonly operator: string };
  /** The demo workspace of each Redis that was started on. */
  readonly workspaces: Readonly<Record<string, DemoWorkspace>>;
}

/** The settings that are kept, made when there are none. */
export function readKeptSettings(file: string): KeptSettings {
  if (existsSync(file)) return parse(file);
  const fresh: KeptSettings = {
    secretsKey: randomBytes(32).toString("hex"),
    tokens: { edge: token(), game: token(), operator: token() },
    workspaces: {},
  };
  writeKeptSettings(file, fresh);
  return fresh;
}

/** Replaces them as a whole: whenever the power goes, the old or the new ones are there. */
export function writeKeptSettings(file: string, settings: KeptSettings): void {
  const next = `${file}.next`;
  const at = openSync(next, "w", 0o600);
  writeSync(at, `${JSON.stringify(settings, null, 2)}\n`);
  fsyncSync(at);
  closeSync(at);
  renameSync(next, file);
}

function parse(file: string): KeptSettings {
  try {
    const kept = JSON.parse(readFileSync(file, "utf8")) as KeptSettings;
    const texts = [kept.secretsKey, kept.tokens.edge, kept.tokens.game, kept.tokens.operator];
    if (texts.every((text) => typeof text === "string" && text !== "") && kept.workspaces) return kept;
  } catch {
    // Told of below.
  }
  throw new StartFault(
    `${file} is not as it was written. Mend it; or remove it, and a new demo workspace is made.`,
  );
}

function token(): string {
  return randomBytes(24).toString("base64url");
}
