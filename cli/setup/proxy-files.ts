import type { Certificates, SetupAnswers } from "./answers";
import { FIREWALL_UNIT, PATHS } from "./paths";
import { filled, type Change } from "./templates";

interface ProxyFile {
  readonly path: string;
  readonly text: string;
}

/** Returns the proxy's configuration, and the firewall rules that limit the proxy's connections. */
export function proxyFiles(answers: SetupAnswers): readonly ProxyFile[] {
  switch (answers.proxy) {
    case "caddy":
      return [{ path: PATHS.caddyfile, text: caddyfile(answers) }, ...firewall()];
    case "nginx":
      return [{ path: PATHS.nginxConf, text: nginxConf(answers) }, ...firewall()];
    case "none":
      return [];
  }
}

const firewall = (): readonly ProxyFile[] => [
  { path: PATHS.firewall, text: filled("proxy/firewall.nft", []) },
  { path: `${PATHS.units}/${FIREWALL_UNIT}`, text: filled(`systemd/${FIREWALL_UNIT}`, []) },
];

function caddyfile({ hooks, dashboard, certificates }: SetupAnswers): string {
  const line = tlsLine(certificates);
  return filled("proxy/Caddyfile", [
    ["\nhooks.example {", `\n${hooks} {${line}`],
    ["\ndashboard.example {", `\n${dashboard} {${line}`],
  ]);
}

function tlsLine(certificates: Certificates): string {
  switch (certificates.kind) {
    case "letsencrypt":
      return "";
    case "internal":
      return "\n\ttls internal";
    case "files":
      return `\n\ttls ${certificates.chain} ${certificates.key}`;
  }
}

function nginxConf({ hooks, dashboard, certificates }: SetupAnswers): string {
  const folder = "/etc/letsencrypt/live/hooks.example";
  const files: readonly Change[] =
    certificates.kind === "files"
      ? [
          [`${folder}/fullchain.pem`, certificates.chain],
          [`${folder}/privkey.pem`, certificates.key],
        ]
      : [[folder, `/etc/letsencrypt/live/${hooks}`]];
  return filled("proxy/nginx.conf", [
    ...files,
    ["server_name hooks.example", `server_name ${hooks}`],
    ["dashboard.example;", `${dashboard};`],
  ]);
}
