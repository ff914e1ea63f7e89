import { resolve } from "node:path";
import { readSettings, type HostPort, type Read } from "../../runtime/settings";

/** The settings of the listeners, in the order of the help and of the error messages. */
export const LISTENERS = {
  EDGE_LISTEN: { what: "address of the edge's listener for bridges", fallback: "127.0.0.1:8080" },
  DASHBOARD_LISTEN: { what: "address of the dashboard", fallback: "127.0.0.1:8082" },
  CORE_LISTEN: {
    what: "address of core's gRPC listener for games and operators",
    fallback: "127.0.0.1:50051",
  },
  EDGE_HEALTH_LISTEN: {
    what: "address of the edge's listener for probes and metrics",
    fallback: "127.0.0.1:8081",
  },
  CORE_HEALTH_LISTEN: {
    what: "address of core's listener for probes and metrics",
    fallback: "127.0.0.1:50052",
  },
  CHAT_LISTEN: { what: "address of the demo chat", fallback: "127.0.0.1:8083" },
  CHAT_PUSH_LISTEN: { what: "address of the demo chat's listener for pushes", fallback: "127.0.0.1:8084" },
  CHAT_HEALTH_LISTEN: { what: "address of the demo chat's listener for probes", fallback: "127.0.0.1:8085" },
  GAME_PICTURES_LISTEN: {
    what: "address of the demo game's listener for pictures",
    fallback: "127.0.0.1:8090",
  },
  GAME_HEALTH_LISTEN: { what: "address of the demo game's listener for probes", fallback: "127.0.0.1:8091" },
  IRC_LISTEN: { what: "address of the IRC server of --with irc", fallback: "127.0.0.1:6667" },
  IRC_HEALTH_LISTEN: { what: "address of the IRC bridge's listener for probes", fallback: "127.0.0.1:8092" },
} as const;

export type Listener = keyof typeof LISTENERS;
const names = Object.keys(LISTENERS) as Listener[];
/** Listeners that only the demo needs, and listeners that only `--with irc` needs. */
const OF_DEMO = /^(?:CHAT|GAME)_/;
const OF_IRC = /^IRC_/;
const ANY_PORT = "127.0.0.1:0";
export type ListenAddresses = Readonly<Record<Listener, HostPort>>;

/** The settings of `npm start`. */
export interface StartSettings {
  /** Absolute path of the data folder. */
  readonly dataDir: string;
  /** URL of a running Redis; if undefined, a private Redis is started. */
  readonly redisUrl: string | undefined;
  /** Address of each listener. Port 0 means any free port. */
  readonly listen: ListenAddresses;
  /** Whether to run the game and the chat. */
  readonly demo: boolean;
  /** Whether to run an IRC server and its bridge. */
  readonly irc: boolean;
}

/**
 * Reads the settings from the environment; docs/settings.md describes them. Throws SettingsError if a setting is
 * invalid.
 *
 * @param irc whether `--with irc` was given
 */
export function readStartSettings(environment: NodeJS.ProcessEnv, irc = true): Read<StartSettings> {
  return readSettings(environment, (settings) => {
    const demo = settings.choice("DEMO", ["on", "off"], "on") === "on";
    const address = (name: Listener): HostPort => {
      // A listener that is not needed gets any free port, because its default port may be in use.
      const isNeeded = (demo || !OF_DEMO.test(name)) && (irc || !OF_IRC.test(name));
      const fallback = isNeeded ? LISTENERS[name].fallback : ANY_PORT;
      return settings.hostPort(name, `${LISTENERS[name].what}, host:port`, fallback);
    };
    return {
      dataDir: resolve(settings.text("DATA_DIR", "folder for all data", ".data")),
      redisUrl: settings.text("REDIS_URL", "", "") || undefined,
      listen: Object.fromEntries(names.map((name) => [name, address(name)])) as ListenAddresses,
      demo,
      irc,
    };
  });
}
