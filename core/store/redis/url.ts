/** The address of a server: a host and port, or the path of a Unix socket. */
export type Address = { readonly host: string; readonly port: number } | { readonly path: string };

/** The credentials, the database and the transport for a server. */
export interface Access {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly tls: boolean;
}

/** The servers in REDIS_URL, and how to connect to them. */
export type RedisTarget =
  | { readonly kind: "server"; readonly address: Address; readonly access: Access }
  | {
      readonly kind: "sentinel";
      readonly sentinels: readonly Address[];
      readonly sentinelAccess: Access;
      /** The name of the master in the configuration of the sentinels. */
      readonly master: string;
      readonly access: Access;
    }
  | { readonly kind: "cluster"; readonly seeds: readonly Address[]; readonly access: Access };

/** A pattern for the whole URL, because the `URL` class does not accept more than one host. */
const FORM = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/?]*)@)?([^@/?]+)(?:\/([^?]*))?(?:\?(.*))?$/;
const HOST_FORM = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]\s,]+))(?::(\d{1,5}))?$/;
const SERVER_PORT = 6379;
const SENTINEL_PORT = 26379;

/**
 * Parses a REDIS_URL. Throws an Error that says what is invalid. The message never contains
 * the URL, which may contain a password.
 */
export function parseRedisUrl(text: string): RedisTarget {
  if (text.startsWith("unix://")) return parseSocket(text);
  const [, scheme, how, user = "", hosts = "", path = "", query = ""] = FORM.exec(text) ?? [];
  if (scheme === undefined) throw new Error("is not a Redis URL");
  const tls = scheme === "rediss";
  const credentials = parseCredentials(user);
  const parameters = new URLSearchParams(query);

  if (how === "cluster") {
    if (path !== "") throw new Error("has a database, but a cluster has none: remove it");
    refuseUnknown(parameters, []);
    const access = { ...credentials, database: 0, tls };
    return { kind: "cluster", seeds: parseHosts(hosts, SERVER_PORT), access };
  }
  if (how === "sentinel") {
    const [master = "", database = "", ...more] = path.split("/");
    if (master === "" || more.length > 0) throw new Error("must end with /<name of the master>[/<database>]");
    refuseUnknown(parameters, SENTINEL_PARAMETERS);
    return {
      kind: "sentinel",
      sentinels: parseHosts(hosts, SENTINEL_PORT),
      sentinelAccess: {
        username: parameters.get("sentinel_user") ?? undefined,
        password: parameters.get("sentinel_password") ?? undefined,
        database: 0,
        tls: tls && parameters.get("sentinel_tls") !== "no",
      },
      master: decode(master),
      access: { ...credentials, database: parseDatabase(database), tls },
    };
  }
  refuseUnknown(parameters, []);
  const [address, ...others] = parseHosts(hosts, SERVER_PORT);
  if (address === undefined || others.length > 0) {
    throw new Error("has several hosts: use redis+sentinel:// or redis+cluster://");
  }
  return { kind: "server", address, access: { ...credentials, database: parseDatabase(path), tls } };
}

const SENTINEL_PARAMETERS = ["sentinel_user", "sentinel_password", "sentinel_tls"];

function parseSocket(text: string): RedisTarget {
  const access = { username: undefined, password: undefined, database: 0, tls: false };
  const path = URL.canParse(text) ? decode(new URL(text).pathname) : "";
  if (path === "" || path === "/") throw new Error("has no socket path");
  return { kind: "server", address: { path }, access };
}

function parseCredentials(text: string): Pick<Access, "username" | "password"> {
  const colon = text.indexOf(":");
  const username = decode(colon < 0 ? text : text.slice(0, colon)) || undefined;
  const password = colon < 0 ? undefined : decode(text.slice(colon + 1)) || undefined;
  if (username !== undefined && password === undefined) throw new Error("has a user without a password");
  return { username, password };
}

function parseHosts(text: string, defaultPort: number): readonly Address[] {
  return text.split(",").map((each) => {
    const [, ipv6, name, digits] = HOST_FORM.exec(each) ?? [];
    const host = ipv6 ?? name;
    const port = digits === undefined ? defaultPort : Number(digits);
    if (host === undefined || port < 1 || port > 65_535) throw new Error("has a host that is not host:port");
    return { host, port };
  });
}

function parseDatabase(text: string): number {
  if (!/^\d{0,5}$/.test(text)) throw new Error("has a database that is not a number");
  return Number(text);
}

function refuseUnknown(parameters: URLSearchParams, known: readonly string[]): void {
  for (const name of parameters.keys()) {
    if (!known.includes(name)) throw new Error(`has an unknown parameter`);
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error("has an invalid percent escape");
  }
}

/** Returns the name of a server for comparisons and logs: host:port, or the path of a socket. */
export function nameOf(address: Address): string {
  if ("path" in address) return address.path;
  return `${address.host}:${address.port}`;
}
