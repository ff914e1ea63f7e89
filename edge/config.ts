import ipaddr from "ipaddr.js";
import { LOG_LEVELS } from "../runtime/logger";
import { readDrainMs } from "../runtime/drain-setting";
import { readCoreConnection } from "../runtime/core-connection";
import { parseList, readSettings } from "../runtime/settings";
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
