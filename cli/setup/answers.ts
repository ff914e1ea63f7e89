import { domainToASCII } from "node:url";

/** The proxies for which `setup` writes a configuration. */
export const PROXIES = ["caddy", "nginx", "none"] as const;
export type Proxy = (typeof PROXIES)[number];

/** The source of the proxy's certificates. */
export type Certificates =
  | { readonly kind: "letsencrypt" }
  /** Certificates of Caddy's own authority, which no browser trusts. */
  | { readonly kind: "internal" }
  | { readonly kind: "files"; readonly chain: string; readonly key: string };

/** The answers to all questions of `setup`. */
export interface SetupAnswers {
  /** Host name at which bridges reach the edge. */
  readonly hooks: string;
  /** Host name of the dashboard. */
  readonly dashboard: string;
  readonly proxy: Proxy;
  readonly certificates: Certificates;
  /** URL of the mail server; undefined if core logs emails instead of sending them. */
  readonly smtpUrl: string | undefined;
  /** Sender address of emails; set if and only if `smtpUrl` is set. */
  readonly mailFrom: string | undefined;
  /** Maximum size of the data in Redis, in megabytes. */
  readonly redisMegabytes: number;
  readonly redisPort: number;
  /** Names of the games that get a token. */
  readonly games: readonly string[];
}

const HOST_FORM = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;
const NAME_FORM = /^[A-Za-z0-9._-]{1,64}$/;
/** Maximum number of games that one run can add. */
const GAMES_MAX = 50;
export const REDIS_MIN_MEGABYTES = 64;
const REDIS_MAX_MEGABYTES = 1_048_576;
/** Characters that both systemd and Node accept in a single-quoted value of a settings file. */
const STORABLE = /^[\x21-\x26\x28-\x7e]+$/;

// Each of the following functions parses an answer. It returns the value, or throws an `Error` that says what is
// invalid.

export function parseHost(text: string): string {
  const name = domainToASCII(text.trim()).toLowerCase();
  if (!HOST_FORM.test(name)) throw new Error("is not a host name such as hooks.example.com");
  return name;
}

export function parseProxy(text: string): Proxy {
  const proxy = PROXIES.find((each) => each === text.trim());
  if (proxy === undefined) throw new Error(`is not one of ${PROXIES.join(", ")}`);
  return proxy;
}

export function parseCertificates(text: string): Certificates {
  const kind = text.trim();
  if (kind === "letsencrypt" || kind === "internal") return { kind };
  const [chain = "", key = "", ...more] = kind.split(",").map((each) => each.trim());
  const isPath = (path: string): boolean => /^\/[\w@%+=:./-]+$/.test(path);
  if (more.length > 0 || !isPath(chain) || !isPath(key)) {
    throw new Error(
      "is neither letsencrypt, internal nor two paths such as /etc/tls/chain.pem,/etc/tls/key.pem",
    );
  }
  return { kind: "files", chain, key };
}

export function parseSmtpUrl(text: string): string {
  const url = text.trim();
  if (!/^smtps?:\/\//.test(url) || !URL.canParse(url)) throw new Error("is not an SMTP URL");
  if (!STORABLE.test(url)) throw new Error("has a character that must be percent-encoded");
  return url;
}

export function parseSender(text: string): string {
  const sender = text.trim();
  if (!/^[^\s@]+@[^\s@]+$/.test(sender) || !STORABLE.test(sender)) throw new Error("is not an email address");
  return sender;
}

/** Returns the number of megabytes. Accepts a number of megabytes, and forms such as 512mb and 2gb. */
export function parseMegabytes(text: string): number {
  const [, digits = "", unit] = /^(\d{1,7})\s*(mb|gb)?$/i.exec(text.trim()) ?? [];
  const megabytes = Number(digits) * (unit?.toLowerCase() === "gb" ? 1024 : 1);
  if (digits === "" || megabytes < REDIS_MIN_MEGABYTES || megabytes > REDIS_MAX_MEGABYTES) {
    throw new Error(`is not an amount of memory of ${REDIS_MIN_MEGABYTES}mb or more, such as 512mb or 2gb`);
  }
  return megabytes;
}

export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text.trim()) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw new Error("is not a port from 1 to 65535");
  return port;
}

/** Returns the names in a comma-separated list, without repetitions. */
export function parseGames(text: string): readonly string[] {
  const names = new Set(
    text
      .split(",")
      .map((each) => each.trim())
      .filter((each) => each !== ""),
  );
  for (const name of names) {
    if (!NAME_FORM.test(name)) throw new Error("has a name with characters other than A-Z a-z 0-9 . _ -");
  }
  if (names.size > GAMES_MAX) throw new Error(`has more than ${GAMES_MAX} names`);
  return [...names];
}

/**
 * Returns the default of `redisMegabytes`: a quarter of the machine's memory, but at most a sixteenth of its free disk
 * space. Redis can need twice the size of its data in memory, and core and the edge need up to 1.8 GB. On disk, the
 * files of Redis need up to four times the size of the data, and backups need more.
 */
export function standardMegabytes(memoryBytes: number, diskBytes: number): number {
  const megabytes = Math.min(memoryBytes / 4, diskBytes / 16) / 1_048_576;
  return Math.max(REDIS_MIN_MEGABYTES, Math.floor(megabytes / 64) * 64);
}

/** Returns the default of `dashboard`: the edge's host name with a different first label. */
export function standardDashboard(hooks: string): string {
  const [, domain = ""] = /^[^.]+\.(.+\..+)$/.exec(hooks) ?? [];
  return `dashboard.${domain || hooks}`;
}
