import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  readKeptSettings,
  writeKeptSettings,
  type DemoWorkspace,
  type KeptSettings,
} from "../local/settings-file";

/**
 * File modes. Redis and Grafana run as users that do not own the files, so the files of these two containers are
 * readable for all users. Only containers that need these files mount them.
 */
const OWNER_ONLY = 0o600;
const OTHER_USER = 0o644;

const kept = (folder: string): string => join(folder, "kept", "settings.json");

type Role = keyof KeptSettings["tokens"];

/**
 * Creates missing secrets, and writes each container's secrets to the folder of that container. Replaces each file
 * atomically, because containers reload their token file when it changes.
 */
export function writeSecrets(folder: string): void {
  const { secretsKey, tokens, oldTokens = {} } = readKeptSettings(kept(folder));
  const password = keptRandom(join(folder, "redis", "password"));
  function write(path: string, lines: readonly string[], mode = OWNER_ONLY): void {
    const file = join(folder, path);
    writeFileSync(`${file}.next`, `${lines.join("\n")}\n`, { mode });
    renameSync(`${file}.next`, file);
  }

  const conf = [
    `requirepass ${password}`,
    "appendonly yes",
    "appendfsync always",
    "maxmemory-policy noeviction",
  ];
  write("redis/redis.conf", conf, OTHER_USER);
  write("core/core.env", [`SECRETS_KEY=${secretsKey}`, `REDIS_URL=redis://:${password}@redis:6379`]);
  // Core accepts a new token before other containers use it.
  const accepted = [...Object.entries(tokens), ...Object.entries(oldTokens)];
  write(
    "core/tokens",
    accepted.map(([role, token]) => `${role}=${token}`),
  );
  write("edge/token", [tokens.edge]);
  write("game/token", [tokens.game]);
  for (const name of ["password", "secret-key"]) keptRandom(join(folder, "grafana", name));
  const { operator, game } = tokens;
  write("operator/tokens.json", [JSON.stringify({ tokens: { operator, game } })]);
}

/**
 * Puts a new key before the old keys. The new key encrypts signing secrets. The old keys still decrypt the secrets that
 * they encrypted.
 */
export function addSecretsKey(folder: string): void {
  const settings = readKeptSettings(kept(folder));
  const secretsKey = [randomBytes(32).toString("hex"), settings.secretsKey].join(",");
  writeKeptSettings(kept(folder), { ...settings, secretsKey });
  writeSecrets(folder);
}

/**
 * Replaces the token of a role. Core accepts both tokens until `removeOldToken`. Throws if the previous token of the role
 * was not removed.
 */
export function rotateToken(folder: string, name: string | undefined): void {
  const settings = readKeptSettings(kept(folder));
  const role = readRole(settings, name);
  if (settings.oldTokens?.[role] !== undefined) {
    throw new Error(
      `the previous token of the role ${role} is still valid: first run remove-old-token ${role}`,
    );
  }
  const tokens = { ...settings.tokens, [role]: randomBytes(24).toString("base64url") };
  const oldTokens = { ...settings.oldTokens, [role]: settings.tokens[role] };
  writeKeptSettings(kept(folder), { ...settings, tokens, oldTokens });
  writeSecrets(folder);
}

/** Removes the previous token of a role. Throws if the role has no previous token. */
export function removeOldToken(folder: string, name: string | undefined): void {
  const settings = readKeptSettings(kept(folder));
  const role = readRole(settings, name);
  const { [role]: old, ...oldTokens } = settings.oldTokens ?? {};
  if (old === undefined)
    throw new Error(`the role ${role} has no previous token: first run rotate-token ${role}`);
  writeKeptSettings(kept(folder), { ...settings, oldTokens });
  writeSecrets(folder);
}

function readRole({ tokens }: KeptSettings, name: string | undefined): Role {
  const roles = Object.keys(tokens) as Role[];
  const role = roles.find((each) => each === name);
  if (role === undefined) throw new Error(`the role is missing or unknown: give one of ${roles.join(", ")}`);
  return role;
}

export function operatorToken(folder: string): string {
  return readKeptSettings(kept(folder)).tokens.operator;
}

/**
 * Property of `KeptSettings.workspaces` that contains the demo workspace. One property is enough, because Docker
 * Compose runs only one Redis.
 */
const HERE = "compose";

export function knownWorkspace(folder: string): DemoWorkspace | undefined {
  return readKeptSettings(kept(folder)).workspaces[HERE];
}

/** Stores the demo workspace in the kept settings, and writes the workspace's id and secret to `chat.env`. */
export function keepWorkspace(folder: string, workspace: DemoWorkspace): void {
  const settings = readKeptSettings(kept(folder));
  writeKeptSettings(kept(folder), { ...settings, workspaces: { [HERE]: workspace } });
  const lines = [`WORKSPACE_ID=${workspace.id}`, `SIGNING_SECRET=${workspace.secret}`];
  writeFileSync(join(folder, "chat", "chat.env"), `${lines.join("\n")}\n`, { mode: OWNER_ONLY });
}

/** Returns the password of Grafana's user `admin`. Grafana uses the password only when it creates its database. */
export function grafanaPassword(folder: string): string {
  return keptRandom(join(folder, "grafana", "password"));
}

/** Returns the text of a file. If the file does not exist, creates it with random text. */
function keptRandom(file: string): string {
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString("hex"), { mode: OTHER_USER });
  return readFileSync(file, "utf8").trim();
}
