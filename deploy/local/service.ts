import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { HostPort } from "../../runtime/settings";
import { makeCertificate } from "./certificate";
import { chatTargetUrl, childEnvironments, SWITCH_SOCKET } from "./child-environments";
import { endedByItself, startChild, startCommand, untilReady, whyNotHealthy, type Child } from "./children";
import { hasEnded } from "./guarded-child";
import {
  buildIrcBridge,
  findIrcServer,
  IRC_BRIDGE_COMMAND,
  ircBridgeEnvironment,
  ircServerCommand,
  whyIrcNotReady,
} from "./irc";
import { freeAddresses, reachable, reachableHost } from "./listen-addresses";
import { createOperator, demoWorkspace, signInLink } from "./operator";
import { holdsData, startPrivateRedis } from "./private-redis";
import { findRedisServer } from "./redis-server";
import { takeRunLock } from "./run-lock";
import { readKeptSettings, writeKeptSettings, type DemoWorkspace } from "./settings-file";
import { StartFault } from "./start-fault";
import type { ListenAddresses, StartSettings } from "./start-settings";
import { startTargetUrlSwitch } from "./target-url-switch";
import { whatNext, type Facts } from "./what-next";

/** Milliseconds within which the processes of a killed earlier run must free their ports. */
const LEFTOVER_WITHIN_MS = 15_000;

/**
 * Runs the service: Redis, then core and an edge, then the demo's game and chat. Prints each step, and then some commands to
 * try. After `over` is aborted, stops the processes in reverse order and resolves. Throws when the data folder cannot
 * be used or is in use.
 *
 * @param over aborted by the caller to stop the service, or by `runService` when the service cannot start or a process
 *   exits unexpectedly; the reason says why
 */
export async function runService(settings: StartSettings, over: AbortController): Promise<void> {
  const { dataDir } = settings;
  const { signal } = over;
  const logs = join(dataDir, "logs");
  const keptFile = join(dataDir, "settings.json");
  const logOf = (name: Child["name"]): string => join(logs, `${name}.log`);
  const started: Child[] = [];
  const closeLast: { close(): unknown }[] = [];

  enter(dataDir, logs);
  const lock = await takeRunLock();

  function watch(child: Child): void {
    started.unshift(child);
    const ended = (): void => over.abort(endedByItself(child));
    if (hasEnded(child.process)) ended();
    else child.process.once("exit", ended);
  }

  /** Starts a process, and resolves when it is ready. */
  async function run(name: Parameters<typeof startChild>[0], env: NodeJS.ProcessEnv, health: HostPort) {
    const child = startChild(name, env, logOf(name));
    watch(child);
    await untilReady(child, () => whyNotHealthy(`http://${reachable(health)}/ready`), signal);
  }

  async function startRedis(): Promise<string> {
    const server = await findRedisServer(say, signal);
    signal.throwIfAborted();
    const folder = join(dataDir, "redis");
    say(`Redis: ${holdsData(folder) ? "loading the data" : "starting without data"} in ${folder}`);
    const redis = await startPrivateRedis({ server, folder, logFile: logOf("redis"), signal });
    watch({ name: "redis", logFile: logOf("redis"), ...redis });
    return redis.url;
  }

  /** Starts an IRC server, and the bridge between the server and a workspace. */
  async function runIrc(server: string, listen: ListenAddresses, workspace: DemoWorkspace): Promise<void> {
    const folder = join(dataDir, "irc");
    const command = ircServerCommand(server, folder, listen.IRC_LISTEN);
    const ircServer = startCommand("irc-server", command, process.env, logOf("irc-server"));
    watch(ircServer);
    await untilReady(ircServer, () => whyIrcNotReady(listen.IRC_LISTEN), signal);
    const health = reachable(listen.IRC_HEALTH_LISTEN);
    const env = ircBridgeEnvironment(process.env, {
      baseUrl: `http://${reachable(listen.EDGE_LISTEN)}`,
      workspace,
      server: { ...listen.IRC_LISTEN, host: reachableHost(listen.IRC_LISTEN) },
      health: listen.IRC_HEALTH_LISTEN,
      stateFolder: join(folder, "state"),
    });
    const bridge = startCommand("irc-bridge", IRC_BRIDGE_COMMAND, env, logOf("irc-bridge"));
    watch(bridge);
    await untilReady(bridge, () => whyNotHealthy(`http://${health}/health`), signal);
  }

  async function start(): Promise<Facts> {
    const ircServer = settings.irc ? findIrcServer() : undefined;
    const listen = await freeAddresses(settings.listen, lock.wasKilled ? LEFTOVER_WITHIN_MS : 0, signal);
    const kept = readKeptSettings(keptFile);
    if (settings.redisUrl !== undefined) say(`Redis: ${nameOf(settings.redisUrl)}, from REDIS_URL`);
    const redisUrl = settings.redisUrl ?? (await startRedis());
    // Core must trust the chat's certificate, so the certificate is made before core starts.
    const certificate = settings.demo
      ? await makeCertificate(join(dataDir, "chat"), reachableHost(listen.CHAT_PUSH_LISTEN))
      : undefined;
    const environments = childEnvironments(process.env, listen, kept, redisUrl, certificate);
    say("core and edge: starting");
    await Promise.all([
      run("core", environments.core, listen.CORE_HEALTH_LISTEN),
      run("edge", environments.edge, listen.EDGE_HEALTH_LISTEN),
    ]);
    const where = settings.redisUrl === undefined ? "private" : nameOf(settings.redisUrl);
    const operator = createOperator(reachable(listen.CORE_LISTEN), kept.tokens.operator);
    closeLast.unshift(operator);

    /** Resolves to a workspace of this Redis, and keeps a new workspace for the next start. */
    async function workspaceNamed(name: string, key: string): Promise<DemoWorkspace> {
      const current = readKeptSettings(keptFile);
      const known = current.workspaces[key];
      const found = await demoWorkspace(operator, known, name);
      if (found !== known) {
        say(`workspace ${name}: created`);
        writeKeptSettings(keptFile, { ...current, workspaces: { ...current.workspaces, [key]: found } });
      }
      return found;
    }
    const workspace = await workspaceNamed("Demo", where);
    const dashboard = `http://${reachable(listen.DASHBOARD_LISTEN)}`;
    const signIn = await signInLink(dashboard, kept.tokens.operator);
    signal.throwIfAborted();
    if (settings.demo) {
      say(
        `game and chat: starting${certificate === undefined ? ", without pushes, which need openssl" : ""}`,
      );
      const [socketPath, targetUrl] = [SWITCH_SOCKET, chatTargetUrl(listen)];
      const { id: workspaceId, secret } = workspace;
      closeLast.unshift(await startTargetUrlSwitch({ socketPath, operator, workspaceId, targetUrl }));
      const chat = { ...environments.chat, WORKSPACE_ID: workspaceId, SIGNING_SECRET: secret };
      await Promise.all([
        run("game", environments.game, listen.GAME_HEALTH_LISTEN),
        run("chat", chat, listen.CHAT_HEALTH_LISTEN),
      ]);
    }
    if (ircServer !== undefined) {
      say("irc-server and irc-bridge: starting");
      buildIrcBridge();
      await runIrc(ircServer, listen, await workspaceNamed("IRC", `${where} irc`));
    }
    return {
      workspace,
      listen,
      tokens: kept.tokens,
      signIn,
      hasChat: settings.demo,
      hasIrc: settings.irc,
      logs,
      keptFile,
    };
  }

  try {
    console.log(whatNext(await start()));
    if (!signal.aborted) await once(signal, "abort");
  } catch (error) {
    // If `over` is already aborted, its reason is the cause, and this error is only a consequence.
    if (!signal.aborted) over.abort(error);
  }
  for (const { name, stop } of started) {
    say(`${name}: stopping`);
    await stop();
  }
  for (const each of closeLast) await each.close();
  lock.release();
}

function say(line: string): void {
  console.log(`· ${line}`);
}

/** Creates missing folders, and makes `dataDir` the current folder, so that relative paths of sockets are short. */
function enter(dataDir: string, logs: string): void {
  try {
    mkdirSync(logs, { recursive: true, mode: 0o700 });
    process.chdir(dataDir);
  } catch (error) {
    throw new StartFault(`DATA_DIR: cannot use ${dataDir} (${(error as Error).message})`);
  }
}

/** Returns a Redis URL without the user name and the password. */
function nameOf(url: string): string {
  if (!URL.canParse(url)) return "an invalid URL";
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
