import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readKeptSettings, writeKeptSettings, type DemoWorkspace } from "../local/settings-file";

/**
 * File modes. Redis and Grafana run as other users, so all users can read the files of these two containers. Only
 * containers that need these files mount them.
 */
const OWNER_ONLY = 0o600;
const OTHER_USER = 0o644;

const kept = (folder: string): string => join(folder, "kept", "settings.json");

/** Creates missing secrets, and writes each container's secrets to the folder of that container. */
export function writeSecrets(folder: string): void {
  const { secretsKey, tokens } = readKeptSettings(kept(folder));
  const password = keptRandom(join(folder, "redis", "password"));
  const write = (path: string, lines: readonly string[], mode = OWNER_ONLY): void =>
    writeFileSync(join(folder, path), `${lines.join("\n")}\n`, { mode });

  const conf = [
    `requirepass ${password}`,
    "appendonly yes",
    "appendfsync always",
    "maxmemory-policy noeviction",
  ];
  write("redis/redis.conf", conf, OTHER_USER);
  const pairs = Object.entries(tokens).map(([role, token]) => `${role}=${token}`);
  write("core/core.env", [
    `SECRETS_KEY=${secretsKey}`,
    `CORE_TOKENS=${pairs.join(",")}`,
    `REDIS_URL=redis://:${password}@redis:6379`,
  ]);
  write("edge/edge.env", [`CORE_TOKEN=${tokens.edge}`]);
  write("game/game.env", [`CORE_TOKEN=${tokens.game}`]);
  for (const name of ["password", "secret-key"]) keptRandom(join(folder, "grafana", name));
  const { operator, game } = tokens;
  write("operator/tokens.json", [JSON.stringify({ tokens: { operator, game } })]);
}

/** Puts a new key before the old keys. The new key encrypts signing secrets; the old keys still decrypt them. */
export function addSecretsKey(folder: string): void {
  const settings = readKeptSettings(kept(folder));
  const secretsKey = [randomBytes(32).toString("hex"), settings.secretsKey].join(",");
  writeKeptSettings(kept(folder), { ...settings, secretsKey });
  writeSecrets(folder);
}

export function operatorToken(folder: string): string {
  return readKeptSettings(kept(folder)).tokens.operator;
}

/**
 * Property of `KeptSettings.workspaces` that contains the demo workspace. One property is enough, because there is only
 * one Redis.
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
