import { createHash, randomBytes } from "node:crypto";
import type { SetupAnswers } from "./answers";
import { entriesOf, type KnownFiles } from "./known-files";
import { gameTokenPath, PATHS } from "./paths";

/** The secrets of an installation. Existing secrets come from files, and missing secrets are created. */
export interface Secrets {
  readonly secretsKey: string;
  /** Password of the Redis user `core`. */
  readonly corePassword: string;
  /** Password of the Redis user `default`, the administrator. */
  readonly adminPassword: string;
  /** A token for each label of `core-tokens`, e.g. "game:trivia". */
  readonly tokens: ReadonlyMap<string, string>;
}

/** Returns the labels of the tokens that an installation needs, each with the path of the token's own file. */
export function tokenFiles({ games }: SetupAnswers): ReadonlyMap<string, string> {
  return new Map([
    ["edge", PATHS.edgeToken],
    ["operator", PATHS.operatorToken],
    ...games.map((game) => [`game:${game}`, gameTokenPath(game)] as const),
  ]);
}

/** Reads the secrets of the existing files, and creates the missing ones. Never changes a secret that exists. */
export function collectSecrets(answers: SetupAnswers, files: KnownFiles): Secrets {
  const { SECRETS_KEY: secretsKey, REDIS_URL: redisUrl = "" } = files.settings(PATHS.coreEnv);
  const listed = new Map(entriesOf(files.read(PATHS.coreTokens) ?? "").map(labelAndToken));
  const tokens = new Map<string, string>();
  for (const [label, path] of tokenFiles(answers)) {
    tokens.set(label, files.read(path)?.trim() || listed.get(label) || randomSecret());
  }
  return {
    secretsKey: secretsKey || randomBytes(32).toString("hex"),
    corePassword: passwordOf(redisUrl) ?? randomSecret(),
    adminPassword: files.read(PATHS.redisAdminPassword)?.trim() || randomSecret(),
    tokens,
  };
}

/**
 * Returns the label and the token of an entry in core's token file. The label does not include the ids of workspaces.
 */
export function labelAndToken(entry: string): readonly [label: string, token: string] {
  const at = entry.indexOf("=");
  return [entry.slice(0, at).replace(/@.*$/, ""), entry.slice(at + 1)];
}

/** Returns the entry of a user for Redis's ACL file. The entry contains only the hash of the password. */
export function redisUsers({ adminPassword, corePassword }: Secrets): string {
  const hash = (password: string): string => `#${createHash("sha256").update(password).digest("hex")}`;
  return [
    `user default on ${hash(adminPassword)} ~* &* +@all`,
    `user core on ${hash(corePassword)} ~cb:* &cb:{s*}:wake:* +@all -@dangerous +info +config|get +role`,
    "",
  ].join("\n");
}

/** Returns the password of the user `core` in a Redis URL, or undefined if the URL contains none. */
function passwordOf(redisUrl: string): string | undefined {
  const [, password] = /^redis:\/\/core:([^@/]+)@/.exec(redisUrl) ?? [];
  return password === undefined ? undefined : decodeURIComponent(password);
}

const randomSecret = (): string => randomBytes(24).toString("base64url");
