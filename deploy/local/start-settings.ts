import { resolve } from "node:path";
import { readSettings, type HostPort, type Read } from "../../runtime/settings";

/** The settings for the listeners, in the order in which the help and error messages list them. */
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
  MATRIX_LISTEN: { what: "address of the Matrix homeserver of --with matrix", fallback: "127.0.0.1:8008" },
  MATRIX_HEALTH_LISTEN: {
    what: "address of the Matrix bridge's listener for probes",
    fallback: "127.0.0.1:8093",
  },
  XMPP_LISTEN: { what: "address of the XMPP server of --with xmpp", fallback: "127.0.0.1:5222" },
  XMPP_HEALTH_LISTEN: {
    what: "address of the XMPP bridge's listener for probes",
    fallback: "127.0.0.1:8094",
  },
} as const;

/** The chats that `--with` can start. The names of a chat's listeners begin with the chat's name. */
export const CHAT_NAMES = ["irc", "matrix", "xmpp"] as const;
export type ChatName = (typeof CHAT_NAMES)[number];

export type Listener = keyof typeof LISTENERS;
const names = Object.keys(LISTENERS) as Listener[];
/** Matches the names of the listeners that only the demo needs. */
const OF_DEMO = /^(?:CHAT|GAME)_/;
const ANY_PORT: HostPort = { host: "127.0.0.1", port: 0 };
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
  /** Whether the chat may sign its members in to the dashboard, where they see only the demo workspace. */
  readonly chatDashboard: boolean;
  /** The chats for which to run a server and a bridge. */
  readonly chats: readonly ChatName[];
  /** Absolute path of the virtual environment that contains Synapse. */
  readonly synapseVenv: string | undefined;
}

const SYNAPSE_VENV = "folder of the Python virtual environment that contains Synapse, for --with matrix";

function isListenerOf(chat: ChatName, name: Listener): boolean {
  return name.startsWith(`${chat.toUpperCase()}_`);
}

/**
 * Reads the settings from the environment; docs/settings.md describes them. Throws SettingsError if a setting is
 * invalid.
 *
 * @param chats the chats that the option `--with` names
 */
export function readStartSettings(
  environment: NodeJS.ProcessEnv,
  chats: readonly ChatName[] = CHAT_NAMES,
): Read<StartSettings> {
  return readSettings(environment, (settings) => {
    const demo = settings.choice("DEMO", ["on", "off"], "on") === "on";
    const chatDashboard = settings.choice("CHAT_DASHBOARD", ["on", "off"], "on") === "on";
    const address = (name: Listener): HostPort => {
      const { what, fallback } = LISTENERS[name];
      const wanted = settings.hostPort(name, `${what}, host:port`, fallback);
      // A listener that is not needed gets any free port, because the configured port may be in use.
      const isOfOtherChat = CHAT_NAMES.some((chat) => isListenerOf(chat, name) && !chats.includes(chat));
      return isOfOtherChat || (!demo && OF_DEMO.test(name)) ? ANY_PORT : wanted;
    };
    const synapseVenv = settings.text("SYNAPSE_VENV", SYNAPSE_VENV, "");
    return {
      dataDir: resolve(settings.text("DATA_DIR", "folder for all data", ".data")),
      redisUrl: settings.text("REDIS_URL", "", "") || undefined,
      listen: Object.fromEntries(names.map((name) => [name, address(name)])) as ListenAddresses,
      demo,
      chatDashboard,
      chats,
      synapseVenv: synapseVenv === "" ? undefined : resolve(synapseVenv),
    };
  });
}
