import type { SetupAnswers } from "./answers";
import { entriesOf, type KnownFiles } from "./known-files";
import { PATHS, UNITS } from "./paths";
import { proxyFiles } from "./proxy-files";
import { labelAndToken, redisUsers, tokenFiles, type Secrets } from "./secrets";
import { filled, type Change } from "./templates";

/** A file that belongs to the installation. */
export interface PlannedFile {
  readonly path: string;
  readonly text: string;
  /**
   * "replaced" if a changed file may be replaced, because it contains no secret and can be generated from the release
   * and the answers. "extended" if missing lines are added to an existing file. "kept" if an existing file is never
   * changed.
   */
  readonly existing: "replaced" | "extended" | "kept";
  /** Whether the text contains secrets, which must never be printed. */
  readonly isSecret: boolean;
}

/** The machine to which the files belong. */
export interface Place {
  /** Absolute path of Node on the machine. */
  readonly node: string;
  /** Absolute path of the Redis server on the machine. */
  readonly redisServer: string;
}

const SECRET = { isSecret: true } as const;
const PUBLIC = { isSecret: false } as const;

/** Returns all files of an installation. */
export function plannedFiles(
  answers: SetupAnswers,
  secrets: Secrets,
  files: KnownFiles,
  place: Place,
): readonly PlannedFile[] {
  const { tokens } = secrets;
  const listed = new Set(entriesOf(files.read(PATHS.coreTokens) ?? "").map((each) => labelAndToken(each)[0]));
  const entries = [...tokens].filter(([label]) => !listed.has(label)).map((pair) => pair.join("="));
  const kept = (path: string, text: string): PlannedFile => ({ path, text, existing: "kept", ...SECRET });
  return [
    { path: PATHS.coreEnv, text: coreSettings(answers, secrets), existing: "extended", ...SECRET },
    { path: PATHS.coreTokens, text: lines(TOKENS_HEADER, ...entries), existing: "extended", ...SECRET },
    { path: PATHS.edgeEnv, text: edgeSettings(answers), existing: "extended", ...PUBLIC },
    { path: PATHS.cliEnv, text: cliSettings(answers), existing: "extended", ...PUBLIC },
    ...[...tokenFiles(answers)].map(([label, path]) => kept(path, lines(tokens.get(label) ?? ""))),
    kept(PATHS.redisAdminPassword, lines(secrets.adminPassword)),
    kept(PATHS.redisUsers, redisUsers(secrets)),
    { path: PATHS.redisConf, text: redisConf(answers), existing: "kept", ...PUBLIC },
    ...systemFiles(answers, place),
    ...proxyFiles(answers).map((each) => ({ ...each, existing: "replaced", ...PUBLIC }) as const),
  ];
}

const lines = (...all: readonly string[]): string => `${all.join("\n")}\n`;
const TOKENS_HEADER =
  "# Tokens that core accepts, one per line: role[:name][@workspace+workspace]=token. See docs/tokens.md.";

function coreSettings(answers: SetupAnswers, { secretsKey, corePassword }: Secrets): string {
  const { redisPort, smtpUrl, mailFrom } = answers;
  return lines(
    "# Settings of core: see docs/settings.md. Without SECRETS_KEY, nobody can read the signing secrets: keep a copy elsewhere.",
    `REDIS_URL=redis://core:${corePassword}@127.0.0.1:${redisPort}`,
    `SECRETS_KEY=${secretsKey}`,
    `CORE_TOKENS_FILE=${PATHS.coreTokens}`,
    ...(smtpUrl === undefined ? [] : [`SMTP_URL='${smtpUrl}'`, `MAIL_FROM='${mailFrom ?? ""}'`]),
  );
}

function edgeSettings({ hooks }: SetupAnswers): string {
  return lines(
    "# Settings of the edge and the dashboard: see docs/settings.md.",
    `CORE_TOKEN_FILE=${PATHS.edgeToken}`,
    "DASHBOARD_LISTEN=127.0.0.1:8082",
    `PUBLIC_URL=https://${hooks}`,
    "TRUST_PROXY=127.0.0.1",
  );
}

function cliSettings({ hooks, dashboard }: SetupAnswers): string {
  return lines(
    "# Settings of the command chat-bridge on this machine.",
    `CORE_TOKEN_FILE=${PATHS.operatorToken}`,
    `BASE_URL=https://${hooks}`,
    "DASHBOARD_INSIDE=http://127.0.0.1:8082",
    `DASHBOARD_URL=https://${dashboard}`,
  );
}

function redisConf({ redisMegabytes, redisPort }: SetupAnswers): string {
  return filled("systemd/redis.conf", [
    ["\nport 6379\n", `\nport ${redisPort}\n`],
    ["\nmaxmemory 512mb\n", `\nmaxmemory ${redisMegabytes}mb\n`],
  ]);
}

/** Returns the systemd units, and the files for other parts of systemd. */
function systemFiles({ redisMegabytes, redisPort }: SetupAnswers, place: Place): readonly PlannedFile[] {
  const node = ["=/usr/bin/node ", `=${place.node} `] as const;
  const changes: Readonly<Record<string, readonly Change[]>> = {
    "chat-bridge-core.service": [node],
    "chat-bridge-edge.service": [node],
    "chat-bridge-redis.service": [
      ["=/usr/bin/redis-server ", `=${place.redisServer} `],
      ["\nMemoryMax=1280M\n", `\nMemoryMax=${2 * redisMegabytes + 256}M\n`],
    ],
    "chat-bridge-backup.service": [["127.0.0.1:6379", `127.0.0.1:${redisPort}`]],
  };
  const replaced = (path: string, template: string, own: readonly Change[] = []): PlannedFile => ({
    path,
    text: filled(template, own),
    existing: "replaced",
    ...PUBLIC,
  });
  return [
    ...UNITS.map((unit) => replaced(`${PATHS.units}/${unit}`, `systemd/${unit}`, changes[unit])),
    replaced(PATHS.sysusers, "systemd/sysusers.conf"),
    replaced(PATHS.tmpfiles, "systemd/tmpfiles.conf"),
    replaced(PATHS.sysctl, "systemd/sysctl.conf"),
  ];
}
