import { spawnSync } from "node:child_process";
import { accessSync, constants, mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { delimiter, join } from "node:path";
import { formatHostPort, type HostPort } from "../../runtime/settings";
import type { DemoWorkspace } from "./settings-file";
import { StartFault } from "./start-fault";

/** The channel that the bridge joins. */
export const IRC_CHANNEL = "#games";

const PROJECT = join(__dirname, "../../..");
/** The command of the IRC bridge. Call `buildIrcBridge` before you run this command. */
export const IRC_BRIDGE_COMMAND = [process.execPath, join(PROJECT, "bridges/irc/chat-bridge-irc.mjs")];
const BRIDGE_PACKAGES = ["chat-bridge-kit", "chat-bridge-runner", "chat-bridge-irc"];

/** Compiles the IRC bridge. Throws StartFault when that fails. */
export function buildIrcBridge(): void {
  const packages = BRIDGE_PACKAGES.flatMap((name) => ["-w", name]);
  const options = { cwd: PROJECT, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync("npm", ["run", "--silent", "build", ...packages], options);
  if (status !== 0) throw new StartFault(`Cannot compile the IRC bridge:\n${stdout}${stderr}`);
}

/** Packages install servers in folders that are often only in root's PATH. */
const MORE_FOLDERS = ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"];

/** Returns the path of ngIRCd in the first folder that has it. Throws StartFault with the command that installs it. */
export function findIrcServer(
  folders: readonly string[] = [...(process.env["PATH"] ?? "").split(delimiter), ...MORE_FOLDERS],
): string {
  const found = folders.map((folder) => join(folder, "ngircd")).find(isExecutable);
  if (found !== undefined) return found;
  throw new StartFault(
    "--with irc needs the IRC server ngIRCd: run sudo apt-get install ngircd (or brew install ngircd), and start again. " +
      "To use another server, see bridges/irc/README.md.",
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Writes the configuration of an IRC server that listens at `at`. Returns the command that runs the server. */
export function ircServerCommand(server: string, folder: string, at: HostPort): readonly string[] {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, "ngircd.conf");
  writeFileSync(
    file,
    `[Global]
Name = irc.localhost
Info = npm start
Listen = ${at.host}
Ports = ${at.port}
MotdPhrase = Games are in ${IRC_CHANNEL}: type !play
[Limits]
MaxConnectionsIP = 0
MaxNickLength = 30
[Options]
DNS = no
Ident = no
PAM = no
`,
    { mode: 0o600 },
  );
  return [server, "--nodaemon", "--config", file];
}

/** Returns the environment of the IRC bridge. `own` is the environment of `npm start`. */
export function ircBridgeEnvironment(
  own: NodeJS.ProcessEnv,
  { baseUrl, workspace, server, health, stateFolder }: IrcBridgeParts,
): NodeJS.ProcessEnv {
  return {
    ...own,
    BASE_URL: baseUrl,
    WORKSPACE_ID: workspace.id,
    SIGNING_SECRET: workspace.secret,
    STATE_FOLDER: stateFolder,
    HEALTH_LISTEN: formatHostPort(health),
    IRC_HOST: server.host,
    IRC_PORT: String(server.port),
    IRC_TLS: "off",
    IRC_CHANNELS: IRC_CHANNEL,
  };
}

export interface IrcBridgeParts {
  readonly baseUrl: string;
  readonly workspace: DemoWorkspace;
  readonly server: HostPort;
  readonly health: HostPort;
  readonly stateFolder: string;
}

/** Resolves to the reason why the server does not accept connections; undefined if it does. */
export function whyIrcNotReady({ host, port }: HostPort): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once("error", ({ message }) => resolve(message));
    socket.once("connect", () => {
      socket.destroy();
      resolve(undefined);
    });
  });
}
