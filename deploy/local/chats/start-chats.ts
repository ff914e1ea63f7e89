import { execFile } from "node:child_process";
import { lookup } from "node:dns/promises";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { formatHostPort, type HostPort } from "../../../runtime/settings";
import { addressesOf, sharedEnvironment } from "../child-environments";
import { whyNotHealthy, type Child } from "../children";
import { reachable, reachableHost } from "../listen-addresses";
import type { RunningChat } from "../running-service";
import type { ChatPasswords, DemoWorkspace } from "../settings-file";
import { StartFault } from "../start-fault";
import type { ChatName, ListenAddresses, StartSettings } from "../start-settings";
import { CHATS } from "./chats";
import { programFinder } from "./find-program";
import type { ChatParts } from "./local-chat";

/** A chat whose server is installed. */
export interface FoundChat {
  readonly name: ChatName;
  /** Command that runs the server, without its configuration. */
  readonly server: readonly string[];
}

/** The functions and data of the local service that chats need. */
export interface ChatHost {
  readonly dataDir: string;
  readonly listen: ListenAddresses;
  readonly signal: AbortSignal;
  /** Starts a program, and resolves when it is ready. */
  run(
    name: Child["name"],
    command: readonly string[],
    env: NodeJS.ProcessEnv,
    whyNotReady: () => Promise<string | undefined>,
  ): Promise<void>;
  /** Resolves to the workspace of a chat's bridge. */
  workspace(label: string, name: ChatName): Promise<DemoWorkspace>;
  passwords(name: ChatName): ChatPasswords;
}

const PROJECT = join(__dirname, "../../../..");
const OUTPUT_MAX_BYTES = 1024 * 1024;

/** Returns the chats with their servers. Throws StartFault with the command that installs a missing server. */
export function findChats(settings: Pick<StartSettings, "chats" | "synapseVenv">): readonly FoundChat[] {
  const find = programFinder();
  return settings.chats.map((name) => ({ name, server: CHATS[name].findServer(find, settings) }));
}

/** Starts the servers of the chats, and then their bridges. Throws StartFault when that fails. */
export async function startChats(
  chats: readonly FoundChat[],
  host: ChatHost,
): Promise<readonly RunningChat[]> {
  const built = buildBridges(chats, host.signal);
  const started = Promise.all(chats.map(async ({ name, server }) => startServer(name, server, host)));
  const [parts] = await Promise.all([started, built]);
  const running: RunningChat[] = [];
  for (const [index, { name }] of chats.entries()) {
    const chat = parts[index] as ChatParts;
    await startBridge(name, chat, host);
    running.push({ name, label: CHATS[name].label, ...CHATS[name].howToJoin(chat) });
  }
  return running;
}

async function startServer(name: ChatName, server: readonly string[], host: ChatHost): Promise<ChatParts> {
  const chat = CHATS[name];
  const parts = await partsOf(name, host);
  mkdirSync(parts.folder, { recursive: true, mode: 0o700 });
  const command = await chat.configure(server, parts);
  const env = sharedEnvironment(process.env);
  await host.run(`${name}-server`, command, env, () => chat.whyNotReady(parts.at));
  await chat.prepare?.(parts, host.signal);
  return parts;
}

async function partsOf(name: ChatName, { dataDir, listen, passwords }: ChatHost): Promise<ChatParts> {
  const wanted = listen[`${upper(name)}_LISTEN`];
  // Some servers listen only on IP addresses, so host names are resolved first.
  const { address } = await lookup(wanted.host);
  const at: HostPort = { host: address, port: wanted.port };
  return {
    folder: join(dataDir, name),
    listen: at,
    at: { ...at, host: reachableHost(at) },
    passwords: CHATS[name].hasAccounts ? passwords(name) : { bridge: "", members: "" },
    pictures: addressesOf(reachableHost(listen.GAME_PICTURES_LISTEN)),
  };
}

async function startBridge(name: ChatName, parts: ChatParts, host: ChatHost): Promise<void> {
  const workspace = await host.workspace(CHATS[name].label, name);
  const health = host.listen[`${upper(name)}_HEALTH_LISTEN`];
  const env = bridgeEnvironment(process.env, {
    BASE_URL: `http://${reachable(host.listen.EDGE_LISTEN)}`,
    WORKSPACE_ID: workspace.id,
    SIGNING_SECRET: workspace.secret,
    STATE_FOLDER: join(parts.folder, "state"),
    HEALTH_LISTEN: formatHostPort(health),
    ...CHATS[name].bridgeSettings(parts, process.env),
  });
  const command = [process.execPath, join(PROJECT, `bridges/${name}/chat-bridge-${name}.mjs`)];
  await host.run(`${name}-bridge`, command, env, () => whyNotHealthy(`http://${reachable(health)}/health`));
}

/**
 * Returns the environment of a bridge. `own` is the environment of `npm start`; the values in `settings` replace its
 * values.
 */
function bridgeEnvironment(
  own: NodeJS.ProcessEnv,
  settings: Readonly<Record<string, string | undefined>>,
): NodeJS.ProcessEnv {
  // The user can also give the path of a file for a setting (<NAME>_FILE), which `settings` must override too.
  const files = Object.fromEntries(Object.keys(settings).map((name) => [`${name}_FILE`, undefined]));
  return { ...sharedEnvironment(own), ...files, ...settings };
}

/** Compiles the bridges. Throws StartFault when that fails. */
async function buildBridges(chats: readonly FoundChat[], signal: AbortSignal): Promise<void> {
  const packages = ["kit", "runner", ...chats.map(({ name }) => name)];
  const args = ["run", "--silent", "build", ...packages.flatMap((name) => ["-w", `chat-bridge-${name}`])];
  try {
    await promisify(execFile)("npm", args, { cwd: PROJECT, maxBuffer: OUTPUT_MAX_BYTES, signal });
  } catch (error) {
    signal.throwIfAborted();
    const { message, stdout = "", stderr = "" } = error as Error & { stdout?: string; stderr?: string };
    throw new StartFault(`Cannot compile the bridges:\n${`${stdout}${stderr}` || message}`);
  }
}

function upper<Name extends ChatName>(name: Name): Uppercase<Name> {
  return name.toUpperCase() as Uppercase<Name>;
}
