import { hostname } from "node:os";
import { readCoreConnection } from "../../runtime/core-connection";
import { LOG_LEVELS, type LogLevel } from "../../runtime/logger";
import { parseList, readSettings, type Settings } from "../../runtime/settings";
import { NAME_FORM } from "./names";

export type GameSettings = ReturnType<typeof readGameSettings>;
export type CommonSettings = ReturnType<typeof readCommonSettings>;

/** Settings of a game in code. Each option replaces an environment variable. */
export interface SettingOptions {
  /** Address of core: host:port; replaces `CORE_ADDRESS`. */
  readonly coreAddress?: string | undefined;
  /** Token of the role game; replaces `CORE_TOKEN`. */
  readonly coreToken?: string | undefined;
  /** Names of all games that share the workspaces; replaces `GAMES`. The default is only this game. */
  readonly games?: readonly string[] | undefined;
  /** Group that follows the events; replaces `FOLLOW_GROUP`. The default is the name of the game. */
  readonly group?: string | undefined;
  /**
   * Name of this process in the group; replaces `FOLLOW_CONSUMER`. The default consists of the host name and the
   * process id.
   */
  readonly consumer?: string | undefined;
  /** host:port of the listener for probes and metrics; replaces `HEALTH_LISTEN`. The default is no listener. */
  readonly healthListen?: string | undefined;
  /** Replaces `LOG_LEVEL`. */
  readonly logLevel?: LogLevel | undefined;
}

/** The kind and the place of a game's store. */
export type StoreChoice =
  | { readonly type: "memory" }
  | { readonly type: "files"; readonly folder: string }
  | { readonly type: "redis"; readonly url: string };

/** Reads the settings of a game from the environment. The options override the environment. Throws `SettingsError`. */
export function readGameSettings(
  game: string,
  environment: Readonly<Record<string, string | undefined>>,
  options: SettingOptions & { readonly store?: string | undefined } = {},
) {
  return readSettings({ ...environment, ...variablesOf(options) }, (settings) => ({
    ...readCommonSettings(settings, game),
    store: settings.parsed("GAME_STORE", "a folder, or a redis:// or rediss:// URL", parseStore, ""),
  }));
}

/**
 * Reads the settings of a game, except `GAME_STORE`. A program that has more settings reads all of them in one call.
 */
export function readCommonSettings(
  settings: Settings,
  game: string,
  defaults: { readonly consumer?: string; readonly healthListen?: string } = {},
) {
  const { consumer = defaultConsumer(hostname(), process.pid), healthListen } = defaults;
  return {
    core: readCoreConnection(settings, "game"),
    games: readGames(settings, game),
    group: settings.parsed("FOLLOW_GROUP", "name of the group that follows events", parseName, game),
    consumer: settings.parsed("FOLLOW_CONSUMER", "name of this process in the group", parseName, consumer),
    healthListen:
      healthListen !== undefined || settings.isSet("HEALTH_LISTEN")
        ? settings.hostPort(
            "HEALTH_LISTEN",
            "address of the listener for probes and metrics, host:port",
            healthListen,
          )
        : undefined,
    logLevel: settings.choice("LOG_LEVEL", LOG_LEVELS, "info"),
  };
}

function variablesOf(options: SettingOptions & { readonly store?: string | undefined }) {
  const variables = {
    CORE_ADDRESS: options.coreAddress,
    CORE_TOKEN: options.coreToken,
    GAMES: options.games?.join(","),
    FOLLOW_GROUP: options.group,
    FOLLOW_CONSUMER: options.consumer,
    HEALTH_LISTEN: options.healthListen,
    GAME_STORE: options.store,
    LOG_LEVEL: options.logLevel,
  };
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== undefined));
}

/** Returns a name for a process. The name is unique in the group. */
export function defaultConsumer(host: string, pid: number): string {
  // The end of the name is kept, because it differs between the processes.
  return `${host}-${pid}`.replaceAll(/[^A-Za-z0-9._-]/g, "-").slice(-64);
}

function readGames(settings: Settings, own: string): readonly string[] {
  const parse = (text: string): readonly string[] => {
    const all = parseList(text);
    if (!all.every((name) => NAME_FORM.test(name))) throw new Error("must be names of a-z 0-9 -");
    if (!all.includes(own)) throw new Error(`must contain ${own}`);
    return all;
  };
  return settings.parsed("GAMES", "names of all games, separated by commas", parse, own);
}

function parseName(text: string): string {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(text))
    throw new Error("must be 1 to 64 characters of A-Z a-z 0-9 . _ -");
  return text;
}

/** Parses `GAME_STORE`. Throws if the text is a URL, but not a valid URL of Redis. */
export function parseStore(text: string): StoreChoice {
  if (text === "") return { type: "memory" };
  const [, scheme] = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(text) ?? [];
  if (scheme === undefined) {
    // An address without a scheme, e.g. localhost:6379, is not a folder. A path that begins with a Windows drive is a
    // folder.
    if (text.includes(":") && !/^(?:[./]|[A-Za-z]:[\\/])/.test(text)) {
      throw new Error("is neither a folder nor a URL: write redis://<host>:<port>, or ./<folder>");
    }
    return { type: "files", folder: text };
  }
  if (!/^rediss?$/.test(scheme) || !URL.canParse(text)) throw new Error("is not a URL of Redis");
  return { type: "redis", url: text };
}
