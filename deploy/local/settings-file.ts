import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { RunningService } from "./running-service";
import { StartFault } from "./start-fault";

/** The demo workspace, with the fields that its bridge needs. */
export interface DemoWorkspace {
  readonly id: string;
  readonly secret: string;
}

/** The addresses at which programs on this machine reach the service. */
export interface ServiceAddresses {
  /** Base URL of the edge, for bridges. */
  readonly edge: string;
  /** Address of core, host:port. */
  readonly core: string;
}

/** Secret settings, which the first start creates and later starts reuse. */
export interface KeptSettings {
  /** Key that encrypts the signing secrets in Redis. */
  readonly secretsKey: string;
  readonly tokens: { readonly edge: string; readonly game: string; readonly operator: string };
  /** The previous tokens that core still accepts. Only `rotate-token` of Docker Compose creates such tokens. */
  readonly oldTokens?: Readonly<Partial<Record<"edge" | "game" | "operator", string>>>;
  /**
   * The workspaces of each Redis. The key of a demo workspace is "private" if `npm start` runs the Redis, or else the
   * URL of the Redis without credentials. For the workspace of another chat, a space and the chat's name follow:
   * "private irc".
   */
  readonly workspaces: Readonly<Record<string, DemoWorkspace>>;
  /** Passwords of the accounts on the chat servers that `npm start -- --with` runs, by the name of the chat. */
  readonly passwords?: Readonly<Partial<Record<string, ChatPasswords>>>;
  /** The addresses of the last start. The command `init` of a bridge reads these addresses. */
  readonly addresses?: ServiceAddresses;
  /** The service of the last start, which may have stopped. */
  readonly running?: RunningService;
}

/** The passwords of the accounts that `npm start` creates on a chat server. */
export interface ChatPasswords {
  readonly bridge: string;
  /** Password of all accounts for members. */
  readonly members: string;
}

/**
 * Returns the settings in the file. If there is no file, creates one with new settings. Throws StartFault when the file
 * is damaged.
 */
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

/** Replaces the file atomically: after a power loss, the file contains either the old or the new settings. */
export function writeKeptSettings(file: string, settings: KeptSettings): void {
  const next = `${file}.next`;
  writeFileSync(next, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(next, file);
}

/** Returns the passwords of a chat's accounts. Creates missing passwords, and saves them for later starts. */
export function keptPasswords(file: string, chat: string): ChatPasswords {
  const kept = readKeptSettings(file);
  const known = kept.passwords?.[chat];
  if (known !== undefined) return known;
  // Members type their password.
  const fresh = { bridge: token(), members: randomBytes(9).toString("base64url") };
  writeKeptSettings(file, { ...kept, passwords: { ...kept.passwords, [chat]: fresh } });
  return fresh;
}

function parse(file: string): KeptSettings {
  try {
    const kept = JSON.parse(readFileSync(file, "utf8")) as KeptSettings;
    const texts = [kept.secretsKey, kept.tokens.edge, kept.tokens.game, kept.tokens.operator];
    if (texts.every((text) => typeof text === "string" && text !== "") && kept.workspaces) return kept;
  } catch {
    // The error below covers invalid JSON too.
  }
  throw new StartFault(
    `${file} is damaged. Repair it, or remove it to make new tokens, a new key and a new demo workspace.`,
  );
}

function token(): string {
  return randomBytes(24).toString("base64url");
}
