import ipaddr from "ipaddr.js";
import { LOG_LEVELS, type LogLevel } from "../runtime/logger";
import { readSettings, type HostPort, type Settings } from "../runtime/settings";

/** How core's certificate is checked, and what the edge shows it, in PEM. */
export interface ClientTls {
  readonly ca: Buffer;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
}

export interface EdgeConfig {
  readonly listen: HostPort;
  readonly healthListen: HostPort;
  /** A gRPC target: host:port, dns:///name:port for all of a name's addresses, or ipv4:host:port,host:port. */
  readonly coreAddress: string;
  readonly coreToken: string;
  readonly coreTls: ClientTls | undefined;
  /** How calls travel to core: many on a lane, or each on its own, which is for comparing. */
  readonly coreCalls: "lane" | "unary";
  /** Proxies whose X-Forwarded-For is believed. */
  readonly trustProxy: readonly string[];
  /** For measuring only: the limit of sending addresses is left to core. */
  readonly limitsLifted: boolean;
  readonly logLevel: LogLevel;
}

/** Reads the edge's settings from the environment; the README's table describes them. Throws SettingsError. */
export function readEdgeConfig(environment: NodeJS.ProcessEnv): EdgeConfig {
  return readSettings(environment, (settings) => ({
    listen: settings.hostPort("EDGE_LISTEN", "where bridges are served, host:port", "127.0.0.1:8080"),
    healthListen: settings.hostPort(
      "HEALTH_LISTEN",
      "where probes are answered, host:port",
      "127.0.0.1:8081",
    ),
    coreAddress: settings.parsed(
      "CORE_ADDRESS",
      "where core is: host:port, dns:///name:port, or ipv4:host:port,host:port",
      parseTarget,
      "127.0.0.1:50051",
    ),
    coreToken: settings.parsed("CORE_TOKEN", "the edge's token, as CORE_TOKENS of core has it", parseToken),
    coreTls: readTls(settings),
    coreCalls: settings.choice("CORE_CALLS", ["lane", "unary"], "lane"),
    trustProxy: settings.parsed(
      "TRUST_PROXY",
      "CIDRs or addresses, with commas between, of the proxies in front",
      parseBlocks,
      " ",
    ),
    limitsLifted: settings.choice("UNSAFE_LIFT_LIMITS", ["yes", "no"], "no") === "yes",
    logLevel: settings.choice("LOG_LEVEL", LOG_LEVELS, "info"),
  }));
}

/** gRPC would take any text, and fail when it is too late to say so. */
const TARGET_FORM =
  /^(?:(?:dns:\/\/\/)?(?:\[[0-9a-fA-F:.]+\]|[^\s/:,[\]]+):\d{1,5}|ipv4(?:[:,][\d.]+:\d{1,5})+|ipv6(?:[:,]\[[0-9a-fA-F:.]+\]:\d{1,5})+)$/;

function parseTarget(text: string): string {
  if (!TARGET_FORM.test(text)) throw new Error("is not an address of core");
  return text;
}

function parseToken(text: string): string {
  if (!/^\S+$/.test(text)) throw new Error("must not have blanks");
  return text;
}

function parseBlocks(text: string): readonly string[] {
  const blocks = text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
  if (!blocks.every((block) => ipaddr.isValid(block) || ipaddr.isValidCIDR(block))) {
    throw new Error("has an entry that is neither an address nor a CIDR such as 10.0.0.0/8");
  }
  return blocks;
}

function readTls(settings: Settings): ClientTls | undefined {
  const ca = settings.file("CORE_TLS_CA", "PEM certificate authority of core's certificate");
  const cert = settings.file("CORE_TLS_CERT", "PEM certificate that the edge shows core");
  const key = settings.file("CORE_TLS_KEY", "PEM key of the edge's certificate");
  if (ca === undefined && (cert !== undefined || key !== undefined)) {
    settings.fault("CORE_TLS_CA is missing: it turns TLS on, CORE_TLS_CERT and CORE_TLS_KEY go with it");
  }
  if ((cert === undefined) !== (key === undefined)) {
    settings.fault("CORE_TLS_CERT and CORE_TLS_KEY go together");
  }
  return ca === undefined ? undefined : { ca, cert, key };
}
