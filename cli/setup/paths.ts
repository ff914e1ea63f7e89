import { existsSync } from "node:fs";
import { join } from "node:path";

/** The paths of the files that `setup` writes and reads, relative to the root folder of the machine. */
export const PATHS = {
  settings: "/etc/chat-bridge",
  coreEnv: "/etc/chat-bridge/core.env",
  coreTokens: "/etc/chat-bridge/core-tokens",
  edgeEnv: "/etc/chat-bridge/edge.env",
  edgeToken: "/etc/chat-bridge/edge-token",
  operatorToken: "/etc/chat-bridge/operator-token",
  cliEnv: "/etc/chat-bridge/cli.env",
  redisConf: "/etc/chat-bridge/redis.conf",
  redisAdminPassword: "/etc/chat-bridge/redis-admin-password",
  caddyfile: "/etc/chat-bridge/Caddyfile",
  nginxConf: "/etc/chat-bridge/nginx.conf",
  firewall: "/etc/chat-bridge/firewall.nft",
  units: "/etc/systemd/system",
  sysusers: "/etc/sysusers.d/chat-bridge.conf",
  tmpfiles: "/etc/tmpfiles.d/chat-bridge.conf",
  sysctl: "/etc/sysctl.d/60-chat-bridge.conf",
  redisData: "/var/lib/chat-bridge-redis",
  redisUsers: "/var/lib/chat-bridge-redis/users.acl",
  backups: "/var/lib/chat-bridge/backups",
} as const;

/** The folder of the release that the systemd units run. */
export const RELEASE = "/opt/chat-bridge/current";

export const gameTokenPath = (game: string): string => `${PATHS.settings}/game-${game}-token`;

/** The systemd unit that loads the firewall rules. Only an installation with a proxy has this unit. */
export const FIREWALL_UNIT = "chat-bridge-firewall.service";

/** File names of the other systemd units. */
export const UNITS = [
  "chat-bridge-redis.service",
  "chat-bridge-core.service",
  "chat-bridge-edge.service",
  "chat-bridge-backup.service",
  "chat-bridge-backup.timer",
] as const;

/** The root folder of the package that contains this program. `deploy/systemd/` is in this folder. */
export const PACKAGE = packageFolder();

/** The compiled file is one folder deeper than the source. */
function packageFolder(): string {
  const [compiled, source] = [join(__dirname, "../../.."), join(__dirname, "../..")];
  return existsSync(join(source, "deploy/systemd")) ? source : compiled;
}
