import ipaddr from "ipaddr.js";
import { LOG_LEVELS } from "../runtime/logger";
import { readDrainMs } from "../runtime/drain-setting";
import { readCoreConnection } from "../runtime/core-connection";
import { parseList, readSettings, type Settings } from "../runtime/settings";
import { readTracing } from "../runtime/tracing/settings";

export type EdgeConfig = ReturnType<typeof readEdgeConfig>;

/** Reads the edge's settings from the environment; docs/settings.md describes them. Throws SettingsError. */
export function readEdgeConfig(environment: NodeJS.ProcessEnv) {
  return readSettings(environment, (settings) => {
    const config = {
      listen: settings.hostPort(
        "EDGE_LISTEN",
        "address of the listener for bridges, host:port",
        "127.0.0.1:8080",
      ),
      healthListen: settings.hostPort(
        "HEALTH_LISTEN",
        "address of the listener for probes and metrics, host:port",
        "127.0.0.1:8081",
      ),
      core: readCoreConnection(settings, "edge"),
      trustProxy: settings.parsed(
        "TRUST_PROXY",
        "comma-separated addresses or CIDRs of the proxies whose X-Forwarded-For gives the client's address",
        parseBlocks,
        " ",
      ),
      connectionsMax: settings.integer(
        "CONNECTIONS_MAX",
        "open connections of bridges; further connections are closed",
        { min: 100, max: 1_000_000 },
        8_000,
      ),
      addressConnectionsMax: settings.integer(
        "ADDRESS_CONNECTIONS_MAX",
        "open connections of bridges from one address that is not in TRUST_PROXY; further connections are closed",
        { min: 10, max: 1_000_000 },
        1_000,
      ),
      dashboardListen:
        settings.text("DASHBOARD_LISTEN", "", "off") === "off"
          ? undefined
          : settings.hostPort("DASHBOARD_LISTEN", "address of the dashboard, host:port, or off"),
      publicUrl: settings.isSet("PUBLIC_URL")
        ? settings.parsed(
            "PUBLIC_URL",
            "URL at which bridges reach the edge, e.g. https://hooks.example",
            parseBase,
          )
        : undefined,
      demo: readDemo(settings),
      drainMs: readDrainMs(settings),
      logLevel: settings.choice("LOG_LEVEL", LOG_LEVELS, "info"),
      tracing: readTracing(settings, "chat-bridge-edge"),
    };
    if (config.addressConnectionsMax >= config.connectionsMax) {
      settings.fault(
        "ADDRESS_CONNECTIONS_MAX must be below CONNECTIONS_MAX: one address could use up all connections",
      );
    }
    return config;
  });
}

/** Returns the settings of the demo's chat; undefined when no chat links to the dashboard. */
function readDemo(settings: Settings) {
  const workspaceId = settings.text("DEMO_WORKSPACE_ID", "id of the workspace of the demo's chat", "");
  const url = settings.isSet("DEMO_CHAT_URL")
    ? settings.parsed("DEMO_CHAT_URL", "URL of the demo's chat, which opens the dashboard", parseBase)
    : undefined;
  if ((url === undefined) !== (workspaceId === "")) {
    settings.fault("DEMO_CHAT_URL and DEMO_WORKSPACE_ID must be set together");
  }
  return url === undefined ? undefined : { url, workspaceId };
}

function parseBase(text: string): string {
  if (!URL.canParse(text) || !/^https?:\/\//i.test(text)) throw new Error("is not an http or https URL");
  return text.replace(/\/+$/, "");
}

function parseBlocks(text: string): readonly string[] {
  const blocks = parseList(text);
  if (!blocks.every((block) => ipaddr.isValid(block) || ipaddr.isValidCIDR(block))) {
    throw new Error("has an entry that is neither an address nor a CIDR such as 10.0.0.0/8");
  }
  return blocks;
}
