import type { SetupAnswers } from "./answers";
import { gameTokenPath, PATHS } from "./paths";

/** Returns the lines that say what to do after `setup` has written the files. */
export function nextSteps(answers: SetupAnswers): readonly string[] {
  const { hooks, dashboard, games } = answers;
  return [
    "",
    "Run these commands next:",
    "",
    ...indented([
      `sysctl -p ${PATHS.sysctl}`,
      "systemctl daemon-reload",
      "systemctl enable --now chat-bridge-redis chat-bridge-core chat-bridge-edge chat-bridge-backup.timer",
      'curl -sS http://127.0.0.1:8081/ready     # answers {"ready":true …} when everything works',
      ...proxyCommands(answers),
    ]),
    "",
    "Let only these ports in from outside: 22 (SSH), 80 and 443. All others listen on 127.0.0.1. With ufw:",
    "",
    ...indented(["ufw allow 22/tcp && ufw allow 80/tcp && ufw allow 443/tcp && ufw enable"]),
    ...(answers.proxy === "none"
      ? []
      : ["", "With nftables, also limit the connections of one address to the proxy:", ""]),
    ...(answers.proxy === "none" ? [] : indented(firewallCommands())),
    "",
    `Sign in to the dashboard, https://${dashboard}, with a link that works once:`,
    "",
    ...indented(["chat-bridge sign-in"]),
    "",
    "Copy to a safe place, not on this machine and not beside the backups of the data:",
    "",
    ...indented([
      `${PATHS.settings}   # core.env has SECRETS_KEY: without this key, nobody can read the signing secrets`,
    ]),
    "",
    ...(games.length === 0 ? [] : gameLines(games)),
    `Bridges use https://${hooks}. docs/one-machine.md describes backups, upgrades and monitoring.`,
  ];
}

const indented = (lines: readonly string[]): readonly string[] => lines.map((line) => `  ${line}`);

function proxyCommands({ proxy, hooks, dashboard, certificates }: SetupAnswers): readonly string[] {
  switch (proxy) {
    case "caddy":
      return [
        `install -m 644 ${PATHS.caddyfile} /etc/caddy/Caddyfile     # replaces Caddy's settings`,
        "systemctl reload caddy",
      ];
    case "nginx":
      return [
        ...(certificates.kind === "letsencrypt"
          ? [
              `certbot certonly --webroot -w /var/www/html -d ${hooks} -d ${dashboard} --deploy-hook 'systemctl reload nginx'`,
            ]
          : []),
        `install -m 644 ${PATHS.nginxConf} /etc/nginx/conf.d/chat-bridge.conf`,
        "nginx -t && systemctl reload nginx",
      ];
    case "none":
      return [];
  }
}

const firewallCommands = (): readonly string[] => [
  `install -D -m 644 ${PATHS.firewall} /etc/nftables.d/chat-bridge.nft`,
  `grep -qs nftables.d /etc/nftables.conf || echo 'include "/etc/nftables.d/*.nft"' >> /etc/nftables.conf`,
  "systemctl enable --now nftables && nft -f /etc/nftables.d/chat-bridge.nft",
];

const gameLines = (games: readonly string[]): readonly string[] => [
  "Tokens of games, for CORE_TOKEN_FILE of the game (core listens at 127.0.0.1:50051):",
  "",
  ...indented(games.map(gameTokenPath)),
  "",
];
