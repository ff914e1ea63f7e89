import type { Logger } from "pino";
import { listenForProbes, type HealthListener } from "../../runtime/health-listener";
import { createLogger } from "../../runtime/logger";
import { runProcess } from "../../runtime/run-process";
import { SettingsError } from "../../runtime/settings";
import { fileStore } from "./file-store";
import type { SizeProblem } from "./chat-sizes";
import type { Game } from "./game";
import { GameRun } from "./game-run";
import { GrpcLink } from "./grpc-link";
import type { GameLog } from "./log";
import { GameMetrics } from "./metrics";
import { redisStore } from "./redis-store";
import {
  parseStore,
  readGameSettings,
  type CommonSettings,
  type GameSettings,
  type SettingOptions,
} from "./settings";
import { memoryStore, type GameStore } from "./store";

/** Options of `startGame`. Options that are not set are read from the environment. */
export interface StartOptions extends SettingOptions {
  /**
   * The place of the state: a store, or a text as in `GAME_STORE`. An empty text means memory, and a URL with
   * `redis://` or `rediss://` means Redis. Any other text is a folder.
   */
  readonly store?: GameStore | string | undefined;
  /** Replaces the log on standard output. A pino logger fits. */
  readonly log?: GameLog | undefined;
  /**
   * Whether the game is the whole program, which is the default. If true, SIGTERM and SIGINT stop the game and the
   * process, and a failed start stops the process. If false, a failed start rejects.
   */
  readonly isProgram?: boolean | undefined;
  /**
   * Aborting this signal stops the game, and makes a start in progress reject. It has an effect only if `isProgram` is
   * false.
   */
  readonly signal?: AbortSignal | undefined;
  /** Settings that the program has already read. They replace the environment, and the options of `SettingOptions`. */
  readonly settings?: CommonSettings | undefined;
  /** Replaces `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

/** A running game. */
export interface RunningGame {
  /** True while core delivers events to the game. */
  readonly isFollowing: boolean;
  /** Port of the listener for probes and metrics; undefined if there is none. */
  readonly healthPort: number | undefined;
  /** Finishes the handlers in progress, publishes, saves and acks their results, and closes all connections. */
  stop(): Promise<void>;
}

/**
 * Runs a game. Resolves when the game follows events, and retries while core is unavailable. If a setting is invalid,
 * the process exits with code 78. If core rejects the token, the process exits with code 1. If `isProgram` is false,
 * the promise rejects instead. The exit code after a signal is 0. A second signal ends the process at once, with exit
 * code 1.
 */
export async function startGame<State>(game: Game<State>, options: StartOptions = {}): Promise<RunningGame> {
  if (options.isProgram === false) {
    const { signal = new AbortController().signal } = options;
    return (await start(game, options, signal)).running;
  }
  return new Promise((resolve) => {
    void runProcess(async (stopping) => {
      endAtSecondSignal();
      const { running, log } = await start(game, options, stopping);
      resolve(running);
      return { running: { close: () => running.stop() }, log: processLog(log) };
    });
  });
}

function endAtSecondSignal(): void {
  let signals = 0;
  const count = (): void => {
    if (++signals > 1) process.exit(1);
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, count);
}

async function start<State>(game: Game<State>, options: StartOptions, stopping: AbortSignal) {
  const { store: stored, environment = process.env } = options;
  const texts = { ...options, store: typeof stored === "object" ? "" : stored };
  const settings: GameSettings =
    options.settings === undefined
      ? readGameSettings(game.name, environment, texts)
      : { ...options.settings, store: parseStore(texts.store ?? ""), misspelled: [] };
  const { core, group, consumer, games } = settings;
  const log = options.log ?? createLogger(`game/${game.name}`, settings.logLevel);
  for (const line of settings.misspelled) log.warn({}, line);
  const store = typeof stored === "object" ? stored : await openStore(settings, game.name, log);

  const metrics = new GameMetrics(game.name);
  const link = new GrpcLink({ ...core, group, consumer, log });
  const run = new GameRun(game, {
    link,
    store,
    log,
    group,
    games,
    onHandled: (ms) => metrics.handled(ms),
    onSizeProblem: adviseOnce(log),
  });
  metrics.read({
    counts: run.counts,
    refusals: link.refusals,
    workspaces: () => run.workspaces,
    isFollowing: () => link.isFollowing,
  });

  let health: HealthListener | undefined;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> =>
    (closing ??= (async () => {
      try {
        await run.stop();
        await store.close?.();
      } finally {
        await health?.close();
      }
    })());
  const whyNotReady = async (): Promise<string | undefined> => {
    if (closing !== undefined) return "stopping";
    if (!link.isFollowing) return "core is unreachable";
    return run.isReady ? undefined : "the store is unavailable, or timers are being loaded";
  };

  try {
    if (settings.healthListen !== undefined)
      health = await listenForProbes(settings.healthListen, whyNotReady, metrics);
    stopping.addEventListener("abort", () => void close().catch(() => undefined), { once: true });
    stopping.throwIfAborted();
    run.run();
    await link.opened;
  } catch (error) {
    // The first error is the reason why the game does not start.
    await close().catch(() => undefined);
    throw error;
  }
  const healthPort = health?.port;
  log.info({ group, consumer, healthPort }, `${game.name} is ready`);
  const running: RunningGame = {
    get isFollowing() {
      return link.isFollowing;
    },
    healthPort,
    stop: close,
  };
  return { running, log };
}

/** Returns the log for `runProcess`, which also logs messages without fields. */
function processLog(log: GameLog): Logger {
  const lines = (level: keyof GameLog) => (fields: object | string, message?: string) =>
    typeof fields === "string" ? log[level]({}, fields) : log[level](fields, message ?? "");
  return { info: lines("info"), error: lines("error") } as unknown as Logger;
}

/** Logs the first size problem of each kind. */
function adviseOnce(log: GameLog): (problem: SizeProblem) => void {
  const logged = new Set<string>();
  return ({ code, detail }) => {
    if (logged.has(code)) return;
    logged.add(code);
    log.warn({ code, detail }, "some chats do not show a message of this game well");
  };
}

async function openStore({ store }: GameSettings, game: string, log: GameLog): Promise<GameStore> {
  switch (store.type) {
    case "memory":
      log.warn({}, "GAME_STORE is not set, so the state is lost when the process stops");
      return memoryStore();
    case "redis":
      return redisStore(store.url, { game });
    case "files": {
      const files = fileStore(store.folder);
      // An unusable folder is an invalid setting: a retry would fail too.
      await files.wakes().catch((error: unknown) => {
        throw new SettingsError([
          `GAME_STORE cannot be used: ${error instanceof Error ? error.message : String(error)}`,
        ]);
      });
      return files;
    }
  }
}
