import { LOG_LEVELS } from "../../runtime/logger";
import { readSettings, type Settings } from "../../runtime/settings";

export type ChatConfig = ReturnType<typeof readChatConfig>;
/** Settings of the HTTPS listener that receives pushes. */
export type PushConfig = NonNullable<ChatConfig["push"]>;

/** Reads the settings from the environment; docs/settings.md describes them. Throws SettingsError. */
export function readChatConfig(environment: NodeJS.ProcessEnv) {
  return readSettings(environment, (settings) => ({
    baseUrl: settings.parsed("BASE_URL", "URL at which bridges reach the service", parseHttpUrl),
    workspaceId: settings.text("WORKSPACE_ID", "the workspace's id, from the dashboard"),
    signingSecret: settings.text("SIGNING_SECRET", "the workspace's signing secret, from the dashboard"),
    listen: settings.hostPort("CHAT_LISTEN", "address of the chat's page, host:port", "127.0.0.1:8083"),
    healthListen: settings.hostPort(
      "HEALTH_LISTEN",
      "address of the listener for probes, host:port",
      "127.0.0.1:8085",
    ),
    push: readPush(settings),
    dashboard: readDashboard(settings),
    modeSocket: settings.text("MODE_SOCKET", "", "") || undefined,
    hosts: settings.parsed(
      "CHAT_HOSTS",
      "comma-separated host names at which the page can be opened",
      parseHosts,
      " ",
    ),
    imageSources: settings.parsed(
      "IMAGE_SOURCES",
      "allowed sources of images, e.g. https: http://127.0.0.1:8090",
      parseSources,
      "https: http://127.0.0.1:*",
    ),
    logLevel: settings.choice("LOG_LEVEL", LOG_LEVELS, "info"),
  }));
}

/** Returns the settings for pushes; undefined when this chat only polls. */
function readPush(settings: Settings) {
  const cert = settings.file("PUSH_TLS_CERT", "PEM certificate of the listener for pushes");
  const key = settings.file("PUSH_TLS_KEY", "PEM key of the listener for pushes");
  const listen = settings.hostPort(
    "PUSH_LISTEN",
    "address of the listener for pushes, host:port",
    "127.0.0.1:8084",
  );
  const targetUrl = settings.isSet("TARGET_URL")
    ? settings.parsed("TARGET_URL", "URL at which the service reaches the listener for pushes", parseHttpUrl)
    : undefined;
  const isObserved = settings.choice("CHAT_OBSERVE", ["on", "off"], "off") === "on";
  if ((cert === undefined) !== (key === undefined)) {
    settings.fault("PUSH_TLS_CERT and PUSH_TLS_KEY must be set together");
  }
  if (isObserved && cert === undefined) {
    settings.fault("CHAT_OBSERVE needs the listener for pushes: set PUSH_TLS_CERT and PUSH_TLS_KEY");
  }
  return cert === undefined || key === undefined
    ? undefined
    : { listen, tls: { cert, key }, targetUrl, isObserved };
}

/** Returns the settings for links to the dashboard; undefined when the chat has no such links. */
function readDashboard(settings: Settings) {
  const token = settings.text("DASHBOARD_TOKEN", "operator's token, limited to the workspace", "");
  const url = settings.isSet("DASHBOARD_URL")
    ? settings.parsed("DASHBOARD_URL", "URL at which members reach the dashboard", parseHttpUrl)
    : undefined;
  if (url === undefined && token !== "") settings.fault("DASHBOARD_TOKEN needs DASHBOARD_URL");
  return url === undefined
    ? undefined
    : { url: url.replace(/\/+$/, ""), token: token === "" ? undefined : token };
}

function parseHttpUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) throw new Error("must be an http or https URL");
  return text;
}

function parseHosts(text: string): readonly string[] {
  const names = text.toLowerCase().split(",");
  return names.map((name) => name.trim()).filter((name) => name !== "");
}

function parseSources(text: string): string {
  if (!/^(?:[a-z]+:(?:\/\/[A-Za-z0-9.[\]:*-]+)?(?:\s+|$))+$/.test(text)) {
    throw new Error("must be schemes or origins, separated by spaces");
  }
  return text;
}
