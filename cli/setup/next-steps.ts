import type { SetupAnswers } from "./answers";
import { FIREWALL_UNIT, gameTokenPath, PATHS } from "./paths";
import type { Step } from "./write-files";

/** Returns the lines that say what to do after `setup` has written the files. */
export function nextSteps(answers: SetupAnswers, steps: readonly Step[]): readonly string[] {
  const changed = new Set(
    steps.filter(({ does }) => does !== "keep" && does !== "differ").map(({ path }) => path),
  );
  const isFirst = steps.some(({ path, does }) => path === PATHS.coreEnv && does === "create");
  const commands = isFirst ? firstCommands(answers) : laterCommands(answers, changed);
  return [
    "",
    ...(commands.length === 0
      ? ["Nothing has changed."]
      : ["Run these commands next:", "", ...indented(commands)]),
    ...(isFirst ? advice(answers) : []),
    ...gameLines(answers.games.filter((game) => changed.has(gameTokenPath(game)))),
  ];
}

const READY = "curl -sS --retry 30 --retry-all-errors --retry-delay 1 http://127.0.0.1:8081/ready";

const indented = (lines: readonly string[]): readonly string[] => lines.map((line) => `  ${line}`);

function firstCommands(answers: SetupAnswers): readonly string[] {
  return [
    `sysctl -p ${PATHS.sysctl}`,
    "systemctl daemon-reload",
    `systemctl enable --now ${unitsOf(answers).join(" ")}`,
    `${READY}    # waits until the edge, core and Redis work`,
    ...proxyCommands(answers),
  ];
}

/** Returns the commands that apply the changes when `setup` runs again. */
function laterCommands(answers: SetupAnswers, changed: ReadonlySet<string>): readonly string[] {
  const units = unitsOf(answers);
  const isChanged = (unit: string): boolean =>
    changed.has(`${PATHS.units}/${unit.includes(".") ? unit : `${unit}.service`}`);
  const restarted = units.filter(
    (unit) =>
      isChanged(unit) ||
      (unit === "chat-bridge-core" && changed.has(PATHS.coreEnv)) ||
      (unit === "chat-bridge-edge" && changed.has(PATHS.edgeEnv)),
  );
  const isTokenNew = changed.has(PATHS.coreTokens) && !restarted.includes("chat-bridge-core");
  return [
    ...(changed.has(PATHS.sysctl) ? [`sysctl -p ${PATHS.sysctl}`] : []),
    ...([...units, "chat-bridge-backup"].some(isChanged) ? ["systemctl daemon-reload"] : []),
    ...(restarted.length === 0
      ? []
      : [`systemctl enable ${restarted.join(" ")}`, `systemctl restart ${restarted.join(" ")}`]),
    ...(isTokenNew ? ["systemctl reload chat-bridge-core"] : []),
    ...(changed.has(PATHS.caddyfile) || changed.has(PATHS.nginxConf) ? proxyCommands(answers) : []),
  ];
}

function unitsOf({ proxy }: SetupAnswers): readonly string[] {
  const always = ["chat-bridge-redis", "chat-bridge-core", "chat-bridge-edge", "chat-bridge-backup.timer"];
  return proxy === "none" ? always : [...always, FIREWALL_UNIT.replace(/\.service$/, "")];
}

/**
 * By default, a worker process of Debian's nginx opens at most 1,024 files, so a few clients with many connections
 * would block all other clients.
 */
const NGINX_LIMITS = [
  "grep -q worker_rlimit_nofile /etc/nginx/nginx.conf ||",
  "  sed -i 's/worker_connections .*/worker_connections 8192;/; /^worker_processes/a worker_rlimit_nofile 16384;' /etc/nginx/nginx.conf",
];

function proxyCommands({ proxy, hooks, dashboard, certificates }: SetupAnswers): readonly string[] {
  switch (proxy) {
    case "caddy":
      return [
        `install -m 644 ${PATHS.caddyfile} /etc/caddy/Caddyfile    # replaces Caddy's settings`,
        "systemctl reload caddy",
      ];
    case "nginx":
      return [
        ...(certificates.kind === "letsencrypt"
          ? [
              `certbot certonly --webroot -w /var/www/html -d ${hooks} -d ${dashboard} --deploy-hook 'systemctl reload nginx'`,
            ]
          : []),
        ...NGINX_LIMITS,
        `install -m 644 ${PATHS.nginxConf} /etc/nginx/conf.d/chat-bridge.conf`,
        "nginx -t && systemctl reload nginx",
      ];
    case "none":
      return [];
  }
}

function advice({ hooks, dashboard }: SetupAnswers): readonly string[] {
  return [
    "",
    "Let only the ports 22 (SSH), 80 and 443 in. All others listen on 127.0.0.1. With ufw:",
    "",
    ...indented(["ufw allow 22/tcp && ufw allow 80/tcp && ufw allow 443/tcp && ufw enable"]),
    "",
    `Sign in to the dashboard, https://${dashboard}, with a link that works once:`,
    "",
    ...indented(["chat-bridge sign-in"]),
    "",
    "Copy to a safe place, which is neither this machine nor the place of the backups:",
    "",
    ...indented([
      `${PATHS.settings}    # without SECRETS_KEY in core.env, nobody can read the signing secrets`,
    ]),
    "",
    `Bridges use https://${hooks}. docs/one-machine.md describes backups, upgrades and monitoring.`,
  ];
}

function gameLines(games: readonly string[]): readonly string[] {
  if (games.length === 0) return [];
  return [
    "",
    "New tokens, for CORE_TOKEN_FILE of a game on this machine, or CORE_TOKEN; core listens at 127.0.0.1:50051:",
    "",
    ...indented(games.map(gameTokenPath)),
  ];
}
