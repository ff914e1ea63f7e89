import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@redis/client";
import { freePort } from "./listen-addresses";

/** The address of a private Redis. */
export interface RedisAddress {
  /** Value for REDIS_URL. A port is protected by a password, and a socket by the permissions of its folder. */
  readonly url: string;
  /** Command-line arguments of the server. */
  readonly settings: readonly string[];
}

/** Maximum length of a socket's path that all systems support, in characters. */
const SOCKET_PATH_MAX = 100;
/** Matches a path that needs no escaping in a URL. */
const PLAIN_PATH = /^[A-Za-z0-9._/-]+$/;
const LOOPBACK = "127.0.0.1";
/** File with the port and the password of the server, with which a later run finds the server. */
const PORT_FILE = "port.conf";
const ANSWER_WITHIN_MS = 2_000;

/**
 * Resolves to the address of the Redis whose data is in a folder. The address is a socket
 * in the folder. If the path is unsuitable for a socket, the address is a loopback port
 * with a password.
 */
export async function redisAddress(folder: string): Promise<RedisAddress> {
  const path = join(folder, "redis.sock");
  if (path.length <= SOCKET_PATH_MAX && PLAIN_PATH.test(path)) {
    const settings = ["--port", "0", "--unixsocket", path, "--unixsocketperm", "700"];
    return { url: `unix://${path}`, settings };
  }
  const file = join(folder, PORT_FILE);
  // The password is in a file, because all users of the machine can read the arguments of a process.
  const settings = [file];
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const [, formerPort, formerPassword] = /^port ([1-9]\d*)\nrequirepass (\S+)$/m.exec(text) ?? [];
  if (formerPort !== undefined && formerPassword !== undefined) {
    const url = urlOf(formerPort, formerPassword);
    const isFree = (await freePort(LOOPBACK, Number(formerPort)).catch(() => undefined)) !== undefined;
    if (isFree || (await ask(url, "PING")) !== undefined) return { url, settings };
  }
  const [port, password] = [String(await freePort(LOOPBACK)), randomBytes(24).toString("hex")];
  writeFileSync(file, `bind ${LOOPBACK}\nport ${port}\nrequirepass ${password}\n`, { mode: 0o600 });
  return { url: urlOf(port, password), settings };
}

function urlOf(port: string, password: string): string {
  return `redis://:${password}@${LOOPBACK}:${port}`;
}

/**
 * Sends a command to the Redis at a URL. Resolves to the answer, or to "" when the answer is an error or does not
 * arrive in time. Resolves to undefined when there is no connection, or the server rejects the password.
 */
export async function ask(
  url: string,
  command: "PING" | "SHUTDOWN" | "GET cb:shards",
): Promise<string | undefined> {
  const client = createClient({
    url,
    socket: { connectTimeout: ANSWER_WITHIN_MS, socketTimeout: ANSWER_WITHIN_MS, reconnectStrategy: false },
    disableOfflineQueue: true,
  });
  // Each failed call rejects its own promise, so the `error` event can be ignored.
  client.on("error", () => undefined);
  try {
    await client.connect();
  } catch {
    return undefined;
  }
  try {
    return (await client.sendCommand<string | null>(command.split(" "))) ?? "";
  } catch {
    return "";
  } finally {
    client.destroy();
  }
}
