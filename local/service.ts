import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { HostPort } from "../runtime/settings";
import { makeCertificate } from "./certificate";
import { chatTargetUrl, childEnvironments, SWITCH_SOCKET } from "./child-environments";
import { endedByItself, startChild, untilReady, type Child } from "./children";
import { hasEnded } from "./guarded-child";
import { freeAddresses, reachable, reachableHost } from "./listen-addresses";
import { createOperator, demoWorkspace, signInLink } from "./operator";
import { holdsData, startPrivateRedis } from "./private-redis";
import { findRedisServer } from "./redis-server";
import { takeRunLock } from "./run-lock";
import { readKeptSettings, writeKeptSettings } from "./settings-file";
import { StartFault } from "./start-fault";
import type { StartSettings } from "./start-settings";
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
  async function run(name: Exclude<Child["name"], "redis">, env: NodeJS.ProcessEnv, health: HostPort) {
    const child = startChild(name, env, logOf(name));
    watch(child);
    await untilReady(child, reachable(health), signal);
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

  async function start(): Promise<Facts> {
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
    const known = kept.workspaces[where];
    const operator = createOperator(reachable(listen.CORE_LISTEN), kept.tokens.operator);
    closeLast.unshift(operator);
    const workspace = await demoWorkspace(operator, known);
    if (workspace !== known) {
      say("demo workspace: created");
      writeKeptSettings(keptFile, { ...kept, workspaces: { ...kept.workspaces, [where]: workspace } });
    }
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
    return { workspace, listen, tokens: kept.tokens, signIn, hasChat: settings.demo, logs, keptFile };
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
