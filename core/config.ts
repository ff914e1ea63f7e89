import { parseBlocks } from "../runtime/public-address";
import { checkCertificates } from "../runtime/certificates";
import type { FileSource } from "../runtime/read-file";
import { readDrainMs } from "../runtime/drain-setting";
import { LOG_LEVELS } from "../runtime/logger";
import { HmacKey } from "./domain/hmac-key";
import { parseTargetUrl } from "./domain/target-url";
import { isEmail } from "./domain/workspace-profile";
import { isLoopback, parseList, readSettings, type Settings } from "../runtime/settings";
import { readTokens } from "./read-tokens";
import { readTracing } from "../runtime/tracing/settings";
import { parseRedisUrl } from "./store/redis/url";

export type CoreConfig = ReturnType<typeof readCoreConfig>;

/** Reads core's settings from the environment; docs/settings.md describes them. Throws `SettingsError`. */
export function readCoreConfig(environment: NodeJS.ProcessEnv) {
  return readSettings(environment, (settings) => {
    const config = {
      ...readRedis(settings),
      ...readCalls(settings),
      ...readStore(settings),
      ...readPushes(settings),
      mail: readMail(settings),
      drainMs: readDrainMs(settings),
      operatorEvents: readOperatorEvents(settings),
      logLevel: settings.choice("LOG_LEVEL", LOG_LEVELS, "info"),
      tracing: readTracing(settings, "chat-bridge-core"),
    };
    if (config.operatorEvents?.mail !== undefined && config.mail === undefined) {
      settings.fault("OPERATOR_EVENTS_MAIL requires SMTP_URL and MAIL_FROM");
    }
    if (config.tokens?.length === 0 && config.listen && !isLoopback(config.listen.host)) {
      settings.fault(
        "CORE_TOKENS is missing: without tokens, core may listen only on loopback, and rejects every call; set CORE_TOKENS or CORE_TOKENS_FILE",
      );
    }
    return config;
  });
}

/** Reads the settings for a migration, which are a subset of core's settings. Throws `SettingsError`. */
export function readMigrationConfig(environment: NodeJS.ProcessEnv) {
  return readSettings(environment, (settings) => ({ ...readRedis(settings), shards: readShards(settings) }));
}

function readRedis(settings: Settings) {
  return {
    redisUrl: settings.parsed(
      "REDIS_URL",
      "address of Redis: redis://host:port, unix:///path, redis+sentinel://host:port,…/master or redis+cluster://host:port,… (rediss… for TLS)",
      checkRedisUrl,
    ),
    redisCa: settings.namedFile("REDIS_CA", "additional PEM root certificate to trust for Redis"),
    redisWaitReplicas: settings.integer(
      "REDIS_WAIT_REPLICAS",
      "number of replicas that must confirm an event before core accepts it",
      { min: 0, max: 16 },
      0,
    ),
  };
}

function checkRedisUrl(text: string): string {
  parseRedisUrl(text);
  return text;
}

/** Reads the settings of the listeners, and the settings that say which callers the listeners accept. */
function readCalls(settings: Settings) {
  return {
    listen: settings.hostPort("CORE_LISTEN", "address of the gRPC listener, host:port", "127.0.0.1:50051"),
    healthListen: settings.hostPort(
      "HEALTH_LISTEN",
      "address of the listener for probes and metrics, host:port",
      "127.0.0.1:50052",
    ),
    ...readTokens(settings),
    secretsKeys: settings.parsed(
      "SECRETS_KEY",
      "key of 32 bytes in hex or base64 (openssl rand -hex 32), or a comma-separated list of keys; the first key encrypts",
      parseKeys,
    ),
    ...readTls(settings),
  };
}

function parseKeys(text: string): readonly Buffer[] {
  return parseList(text).map((key) => {
    const bytes = /^[0-9a-fA-F]{64}$/.test(key) ? Buffer.from(key, "hex") : Buffer.from(key, "base64");
    if (bytes.length !== 32) throw new Error("has a key that is not 32 bytes");
    return bytes;
  });
}

function readShards(settings: Settings): number {
  const what = "number of shards of the store, fixed at core's first start";
  return settings.integer("SHARDS", what, { min: 1, max: 1024 }, 16);
}

/** Reads the settings of the store: the number of shards, and the limits of the stored data. */
function readStore(settings: Settings) {
  return {
    shards: readShards(settings),
    inboundLogMax: settings.integer(
      "INBOUND_LOG_MAX",
      "inbound events kept for followers, per shard",
      { min: 1000, max: 100_000_000 },
      1_000_000,
    ),
    inboundLogMaxBytes: settings.integer(
      "INBOUND_LOG_MAX_BYTES",
      "bytes of inbound events kept for followers, per shard; 0 for a part of Redis's memory (docs/scaling.md)",
      { min: 0, max: 1_099_511_627_776 },
      0,
    ),
    pushQueueMax: settings.integer(
      "PUSH_QUEUE_MAX",
      "events that can wait to be pushed, per shard; further events are dropped",
      { min: 100, max: 10_000_000 },
      50_000,
    ),
    pushQueueMaxBytes: settings.integer(
      "PUSH_QUEUE_MAX_BYTES",
      "bytes of the events that can wait to be pushed, per shard; further events are dropped; 0 for a part of Redis's memory",
      { min: 0, max: 10_000_000_000 },
      0,
    ),
    heldMaxBytes: settings.integer(
      "HELD_MAX_BYTES",
      "bytes of the events held for polling, per workspace; further events are refused; 0 for an eighth of Redis's memory",
      { min: 0, max: 1_099_511_627_776 },
      0,
    ),
    redisMemoryBytes: settings.integer(
      "REDIS_MEMORY_BYTES",
      "bytes of memory of each Redis master, for a Redis without maxmemory; 0 for no limit",
      { min: 0, max: 1_099_511_627_776 },
      0,
    ),
  };
}

function readPushes(settings: Settings) {
  return {
    pushAllow: settings.parsed(
      "PUSH_ALLOW",
      "comma-separated CIDRs of non-public addresses that pushes may go to",
      (text) => parseBlocks(parseList(text)),
      " ",
    ),
    pushCa: settings.namedFile("PUSH_CA", "additional PEM root certificate to trust for bridges"),
    dnsServers: settings.parsed(
      "DNS_SERVERS",
      "comma-separated name servers that look up the hosts of target URLs, as address or address:port",
      parseList,
      " ",
    ),
  };
}

/** Returns the mail server and the sender address, or undefined if core must log emails instead of sending them. */
function readMail(settings: Settings) {
  const smtpUrl = settings.parsed(
    "SMTP_URL",
    "mail server, smtp://user:password@host:port or smtps://…",
    parseSmtpUrl,
    " ",
  );
  const from = settings.parsed("MAIL_FROM", "sender of emails, e.g. bridges@example.com", parseSender, " ");
  if ((smtpUrl === "") !== (from === "")) settings.fault("SMTP_URL and MAIL_FROM must be set together");
  return smtpUrl ? { smtpUrl, from } : undefined;
}

/** Returns a parser that accepts the empty string and every string for which `isValid` returns true. */
function parseOptional(isValid: (text: string) => boolean, fault: string): (text: string) => string {
  return (padded) => {
    const text = padded.trim();
    if (text !== "" && !isValid(text)) throw new Error(fault);
    return text;
  };
}

const parseSmtpUrl = parseOptional((text) => /^smtps?:\/\//.test(text), "is not an SMTP URL");
const parseSender = parseOptional((text) => text.includes("@"), "is not an email address");
const parseRecipient = parseOptional(isEmail, "is not one email address such as operators@example.com");

/** Returns the addresses for the operator events of all workspaces. */
function readOperatorEvents(settings: Settings) {
  const url = settings.parsed(
    "OPERATOR_EVENTS_URL",
    "https URL for the operator events of all workspaces",
    parseEventsUrl,
    " ",
  );
  const keys = settings.parsed(
    "OPERATOR_EVENTS_SECRET",
    "secret that signs the operator events for OPERATOR_EVENTS_URL, or a comma-separated list of secrets during a rotation, newest first",
    parseEventsSecrets,
    " ",
  );
  const mail = settings.parsed(
    "OPERATOR_EVENTS_MAIL",
    "email address for the operator events of all workspaces",
    parseRecipient,
    " ",
  );
  if ((url === undefined) !== (keys?.length === 0)) {
    settings.fault("OPERATOR_EVENTS_URL and OPERATOR_EVENTS_SECRET must be set together");
  }
  return { hook: url && { url, keys }, mail: mail || undefined };
}

function parseEventsUrl(text: string): URL | undefined {
  if (text.trim() === "") return undefined;
  const url = parseTargetUrl(text.trim());
  if (typeof url === "string")
    throw new Error("is not an https URL without a user name, password and fragment");
  return url;
}

const EVENTS_SECRET_MIN_CHARACTERS = 32;

function parseEventsSecrets(text: string): readonly HmacKey[] {
  return parseList(text).map((secret) => {
    if (secret.length < EVENTS_SECRET_MIN_CHARACTERS) {
      throw new Error(`has a secret of fewer than ${EVENTS_SECRET_MIN_CHARACTERS} characters`);
    }
    return new HmacKey(Buffer.from(secret));
  });
}

/** The certificates of core's listener. With `clientCa`, callers must present a certificate of this authority (mTLS). */
export interface ServerTls {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly clientCa: Buffer | undefined;
}

function readTls(settings: Settings): {
  readonly tls: ServerTls | undefined;
  readonly tlsFiles: FileSource<ServerTls> | undefined;
} {
  const cert = settings.namedFile("CORE_TLS_CERT", "PEM certificate of core's listener");
  const key = settings.namedFile("CORE_TLS_KEY", "PEM key of core's listener", { isSecret: true });
  const clientCa = settings.namedFile(
    "CORE_TLS_CLIENT_CA",
    "PEM certificate of the authority that issues callers' certificates",
  );
  if (cert !== undefined && key !== undefined) {
    const files = [cert, key, ...(clientCa === undefined ? [] : [clientCa])];
    return {
      tls: { cert: cert.bytes, key: key.bytes, clientCa: clientCa?.bytes },
      tlsFiles: { files, parse: parseServerTls },
    };
  }
  if (cert !== undefined || key !== undefined || clientCa !== undefined) {
    settings.fault("CORE_TLS_CERT and CORE_TLS_KEY must be set together; CORE_TLS_CLIENT_CA requires both");
  }
  return { tls: undefined, tlsFiles: undefined };
}

function parseServerTls([cert, key, clientCa]: readonly Buffer[]): ServerTls {
  if (cert === undefined || key === undefined) throw new Error("is missing");
  checkCertificates({ cert, key, ca: clientCa }, Date.now());
  return { cert, key, clientCa };
}
