import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { FolderInUse, lockFolder, type FolderLock } from "../../kit/folder-lock";
import type { HostPort } from "../../runtime/settings";
import { makeCertificate } from "./certificate";
import { findChats, startChats, type ChatHost, type FoundChat } from "./chats/start-chats";
import { canSignIn, chatTargetUrl, childEnvironments, SWITCH_SOCKET } from "./child-environments";
import { endedByItself, startChild, startCommand, untilReady, whyNotHealthy, type Child } from "./children";
import { hasEnded } from "./guarded-child";
import { freeAddresses, reachable, reachableHost } from "./listen-addresses";
import { createOperator, demoWorkspace, signInLink, untilAnswered, type Operator } from "./operator";
import { migrate, needsMigration } from "./migrate";
import { holdsData, startPrivateRedis } from "./private-redis";
import { findRedisServer } from "./redis-server";
import type { RunningChat, RunningService } from "./running-service";
import { keptPasswords, readKeptSettings, writeKeptSettings, type DemoWorkspace } from "./settings-file";
import { Progress } from "./progress";
import { StartFault } from "./start-fault";
import type { ListenAddresses, StartSettings } from "./start-settings";
import { startTargetUrlSwitch } from "./target-url-switch";

/** Maximum milliseconds to wait until the processes of a killed earlier run free their ports. */
const LEFTOVER_WITHIN_MS = 15_000;

/** A service that is ready, and a link to its dashboard with which one person can sign in once. */
export interface ReadyService {
  readonly running: RunningService;
  readonly signIn: string;
}

/**
 * Runs the service: Redis, then core and an edge, then the demo's game and chat. Prints each step, and then the text
 * that `whatNext` returns. When `over` is aborted, stops the processes in reverse order, and then resolves. Throws when
 * the data folder cannot be used or is in use.
 *
 * @param over the caller aborts it to stop the service; `runService` aborts it when the service cannot start or a
 *   process exits unexpectedly. The abort reason says why
 */
export async function runService(
  settings: StartSettings,
  over: AbortController,
  whatNext: (service: ReadyService) => string,
): Promise<void> {
  enter(settings.dataDir, join(settings.dataDir, "logs"));
  const lock = await lockRun();
  const progress = new Progress(process.stdout);
  const service = new LocalService(settings, over, progress);
  try {
    const ready = await service.start(lock.wasAbandoned ? LEFTOVER_WITHIN_MS : 0);
    progress.clear();
    console.log(whatNext(ready));
    if (!over.signal.aborted) await once(over.signal, "abort");
  } catch (error) {
    // If `over` is already aborted, this error is only a consequence of the abort, so the reason for the abort stays.
    if (!over.signal.aborted) over.abort(error);
  }
  await service.stop();
  progress.clear();
  lock.release();
}

/** The processes of the service, and the resources that `npm start` provides for them. */
class LocalService {
  readonly #settings: StartSettings;
  readonly #over: AbortController;
  readonly #signal: AbortSignal;
  readonly #progress: Progress;
  readonly #logs: string;
  readonly #keptFile: string;
  /** The started processes, newest first. */
  readonly #started: Child[] = [];
  /** The resources to close after the processes have stopped, newest first. */
  readonly #closeLast: { close(): unknown }[] = [];

  constructor(settings: StartSettings, over: AbortController, progress: Progress) {
    this.#settings = settings;
    this.#over = over;
    this.#signal = over.signal;
    this.#progress = progress;
    this.#logs = join(settings.dataDir, "logs");
    this.#keptFile = join(settings.dataDir, "settings.json");
  }

  /** @param portsWithinMs milliseconds within which the listeners' ports must become free */
  async start(portsWithinMs: number): Promise<ReadyService> {
    const { dataDir, demo, redisUrl: ownRedis } = this.#settings;
    const listen = await freeAddresses(this.#settings.listen, portsWithinMs, this.#signal);
    const found = findChats(this.#settings);
    const kept = readKeptSettings(this.#keptFile);
    if (ownRedis !== undefined) this.#progress.step(`Redis: ${nameOf(ownRedis)}, from REDIS_URL`);
    const redisUrl = ownRedis ?? (await this.#startRedis());
    // Core must trust the chat's certificate, so the certificate is made before core starts.
    const certificate = demo
      ? await makeCertificate(join(dataDir, "chat"), reachableHost(listen.CHAT_PUSH_LISTEN))
      : undefined;
    const where = ownRedis === undefined ? "private" : nameOf(ownRedis);
    const isLinked = demo && this.#settings.chatDashboard && canSignIn(listen);
    const token = randomBytes(24).toString("hex");
    const environmentsFor = (workspaceId: string | undefined) => {
      const chatToken = isLinked && workspaceId !== undefined ? { token, workspaceId } : undefined;
      return childEnvironments(process.env, listen, kept, redisUrl, certificate, chatToken);
    };
    const knownId = kept.workspaces[where]?.id;
    let environments = environmentsFor(knownId);
    // No other core uses a private Redis, so its data can be migrated.
    if (ownRedis === undefined) await this.#migrate(redisUrl, environments.core);
    this.#progress.step("core and edge: starting");
    await this.#startServers(environments, listen);
    this.#keepAddresses(listen);
    const operator = createOperator(reachable(listen.CORE_LISTEN), kept.tokens.operator);
    this.#closeLast.unshift(operator);
    const workspace = await this.#workspace(operator, "Demo", where);
    if (isLinked && workspace.id !== knownId) {
      environments = environmentsFor(workspace.id);
      await this.#restartServers(environments, listen);
      await untilAnswered(operator, workspace.id, this.#signal);
    }
    const signIn = await signInLink(`http://${reachable(listen.DASHBOARD_LISTEN)}`, kept.tokens.operator);
    this.#signal.throwIfAborted();
    if (demo) {
      const starting = "game and chat: starting";
      if (certificate === undefined) this.#progress.note(`${starting}, without pushes, which need openssl`);
      else this.#progress.step(starting);
      await this.#startDemo(operator, workspace, listen, environments);
    }
    const chats = await this.#startChats(found, listen, (label, name) =>
      this.#workspace(operator, label, `${where} ${name}`),
    );
    const running = { pid: process.pid, workspace, listen, hasChat: demo, chats };
    writeKeptSettings(this.#keptFile, { ...readKeptSettings(this.#keptFile), running });
    return { running, signIn };
  }

  /** Stops all processes in reverse order. */
  async stop(): Promise<void> {
    for (const { name, stop } of this.#started) {
      this.#progress.step(`${name}: stopping`);
      await stop();
    }
    for (const each of this.#closeLast) await each.close();
  }

  async #startServers(
    { core, edge }: ReturnType<typeof childEnvironments>,
    listen: ListenAddresses,
  ): Promise<void> {
    await Promise.all([
      this.#run("core", core, listen.CORE_HEALTH_LISTEN),
      this.#run("edge", edge, listen.EDGE_HEALTH_LISTEN),
    ]);
  }

  /**
   * Restarts core and the edge with a token for the chat. The restart is necessary because core reads its tokens only
   * at its start. The token is limited to a workspace that did not exist then.
   */
  async #restartServers(
    environments: ReturnType<typeof childEnvironments>,
    listen: ListenAddresses,
  ): Promise<void> {
    const stopping = this.#started.filter(({ name }) => name === "core" || name === "edge");
    for (const child of stopping) {
      this.#started.splice(this.#started.indexOf(child), 1);
      await child.stop();
    }
    this.#signal.throwIfAborted();
    await this.#startServers(environments, listen);
  }

  #logOf(name: Child["name"] | "migrate"): string {
    return join(this.#logs, `${name}.log`);
  }

  #watch(child: Child): void {
    this.#started.unshift(child);
    const ended = (): void => {
      if (this.#started.includes(child)) this.#over.abort(endedByItself(child));
    };
    if (hasEnded(child.process)) ended();
    else child.process.once("exit", ended);
  }

  /** Starts a process, and resolves when the process is ready. */
  async #run(name: Parameters<typeof startChild>[0], env: NodeJS.ProcessEnv, health: HostPort) {
    const child = startChild(name, env, this.#logOf(name));
    this.#watch(child);
    await untilReady(child, () => whyNotHealthy(`http://${reachable(health)}/ready`), this.#signal);
  }

  async #startRedis(): Promise<string> {
    const server = await findRedisServer((line) => this.#progress.note(line), this.#signal);
    this.#signal.throwIfAborted();
    const folder = join(this.#settings.dataDir, "redis");
    const logFile = this.#logOf("redis");
    this.#progress.step(
      `Redis: ${holdsData(folder) ? "loading the data" : "starting without data"} in ${folder}`,
    );
    const redis = await startPrivateRedis({ server, folder, logFile, signal: this.#signal });
    this.#watch({ name: "redis", logFile, ...redis });
    return redis.url;
  }

  /** Converts the data of an older release, if Redis has such data. */
  async #migrate(redisUrl: string, env: NodeJS.ProcessEnv): Promise<void> {
    if (!(await needsMigration(redisUrl))) return;
    this.#progress.step("data of an older release: converting");
    const converted = await migrate(env, this.#logOf("migrate"), this.#signal);
    this.#progress.note(`data of an older release: converted, with ${converted} held events`);
  }

  /** Resolves to a workspace in this Redis. Saves a newly created workspace for the next start. */
  async #workspace(operator: Operator, name: string, key: string): Promise<DemoWorkspace> {
    const current = readKeptSettings(this.#keptFile);
    const known = current.workspaces[key];
    const found = await demoWorkspace(operator, known, name);
    if (found !== known) {
      this.#progress.step(`workspace ${name}: created`);
      writeKeptSettings(this.#keptFile, { ...current, workspaces: { ...current.workspaces, [key]: found } });
    }
    return found;
  }

  #keepAddresses({ EDGE_LISTEN: edge, CORE_LISTEN: core }: ListenAddresses): void {
    const addresses = { edge: `http://${reachable(edge)}`, core: reachable(core) };
    writeKeptSettings(this.#keptFile, { ...readKeptSettings(this.#keptFile), addresses });
  }

  /** Starts the game, the chat, and the server through which the chat switches between polling and pushes. */
  async #startDemo(
    operator: Operator,
    { id: workspaceId, secret }: DemoWorkspace,
    listen: ListenAddresses,
    { game, chat }: ReturnType<typeof childEnvironments>,
  ): Promise<void> {
    const [socketPath, targetUrl] = [SWITCH_SOCKET, chatTargetUrl(listen)];
    this.#closeLast.unshift(await startTargetUrlSwitch({ socketPath, operator, workspaceId, targetUrl }));
    const chatEnv = { ...chat, WORKSPACE_ID: workspaceId, SIGNING_SECRET: secret };
    await Promise.all([
      this.#run("game", game, listen.GAME_HEALTH_LISTEN),
      this.#run("chat", chatEnv, listen.CHAT_HEALTH_LISTEN),
    ]);
  }

  /** Starts the chats of `--with`. */
  async #startChats(
    found: readonly FoundChat[],
    listen: ListenAddresses,
    workspace: ChatHost["workspace"],
  ): Promise<readonly RunningChat[]> {
    if (found.length === 0) return [];
    for (const { name } of found) this.#progress.step(`${name}-server and ${name}-bridge: starting`);
    return startChats(found, {
      dataDir: this.#settings.dataDir,
      listen,
      signal: this.#signal,
      workspace,
      passwords: (name) => keptPasswords(this.#keptFile, name),
      run: (...program) => this.#runCommand(...program),
    });
  }

  async #runCommand(...[name, command, env, whyNotReady]: Parameters<ChatHost["run"]>): Promise<void> {
    // Several chats start at the same time. After one chat has failed, the other chats must not start further programs.
    this.#signal.throwIfAborted();
    const child = startCommand(name, command, env, this.#logOf(name));
    this.#watch(child);
    await untilReady(child, whyNotReady, this.#signal);
  }
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

/** Allows one run at a time in the current folder. */
async function lockRun(): Promise<FolderLock> {
  try {
    return await lockFolder(".");
  } catch (error) {
    if (!(error instanceof FolderInUse)) throw new StartFault(`DATA_DIR: ${(error as Error).message}`);
    throw new StartFault(
      `The service is already running in ${error.folder} (process ${error.pid ?? "unknown"}). ` +
        "Stop it first, or start with another DATA_DIR and other addresses (npm start -- --help).",
    );
  }
}

/** Returns a Redis URL without the user name and the password. */
function nameOf(url: string): string {
  if (!URL.canParse(url)) return "an invalid URL";
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
