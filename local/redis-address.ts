import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "redis";
import { giveBack, listenOn, portOf } from "./free-port";

/** The address of a private Redis. */
export interface RedisAddress {
  /** Value for REDIS_URL. */
  readonly url: string;
  readonly connect: { readonly path: string } | { readonly host: string; readonly port: number };
  /** Empty for a socket, which the permissions of the folder protect. */
  readonly password: string;
  /** Arguments of the server. */
  readonly settings: readonly string[];
}

/** Maximum length of a socket's path that works on all systems. */
const SOCKET_PATH_MAX = 100;
/** A path that needs no escaping in a URL. */
const PLAIN_PATH = /^[A-Za-z0-9._/-]+$/;
const LOOPBACK = "127.0.0.1";
/** Kept in the folder of the data, so that the server of an earlier run can be found. */
const PORT_FILE = "port.conf";

/**
 * Resolves to the address of the Redis of a folder: a socket in the folder or, if
 * the path is unsuitable for a socket, a loopback port with a password.
 */
export async function redisAddress(folder: string): Promise<RedisAddress> {
  const path = join(folder, "redis.sock");
  if (path.length <= SOCKET_PATH_MAX && PLAIN_PATH.test(path)) {
    const settings = ["--port", "0", "--unixsocket", path, "--unixsocketperm", "700"];
    return { url: `unix://${path}`, connect: { path }, password: "", settings };
  }
  const file = join(folder, PORT_FILE);
  const former = existsSync(file) ? portAddress(file) : undefined;
  if (former !== undefined) {
    const free = (await freePort(former.connect.port)) !== undefined;
    if (free || (await ask(former, "PING")) !== undefined) return former;
  }
  const password = randomBytes(24).toString("hex");
  const lines = [`bind ${LOOPBACK}`, `port ${await freePort(0)}`, `requirepass ${password}`];
  writeFileSync(file, `${lines.join("\n")}\n`, { mode: 0o600 });
  const address = portAddress(file);
  if (address === undefined) throw new Error(`${file} was just written and cannot be read`);
  return address;
}

function portAddress(
  file: string,
): (RedisAddress & { readonly connect: { readonly port: number } }) | undefined {
  const text = readFileSync(file, "utf8");
  const port = Number(/^port (\d+)$/m.exec(text)?.[1]);
  const password = /^requirepass (\S+)$/m.exec(text)?.[1];
  if (!(port > 0) || password === undefined) return undefined;
  return {
    url: `redis://:${password}@${LOOPBACK}:${port}`,
    connect: { host: LOOPBACK, port },
    password,
    // In a file, since all users of the machine can read the arguments of a process.
    settings: [file],
  };
}

/** Resolves to `port`, or to any free port for 0; undefined if the port is in use. Releases the port at once. */
async function freePort(port: number): Promise<number | undefined> {
  try {
    const server = await listenOn(LOOPBACK, port);
    const found = portOf(server);
    await giveBack(server);
    return found;
  } catch {
    return undefined;
  }
}

const ANSWER_WITHIN_MS = 2_000;

/**
 * Sends a command to the Redis of an address. Resolves to the answer, or to "" when the answer is an error or does not
 * arrive in time. Resolves to undefined when there is no connection, or the server rejects the password.
 */
export async function ask(
  { connect, password }: RedisAddress,
  command: "PING" | "SHUTDOWN",
): Promise<string | undefined> {
  const client = createClient({
    socket: {
      ...connect,
      connectTimeout: ANSWER_WITHIN_MS,
      socketTimeout: ANSWER_WITHIN_MS,
      reconnectStrategy: false,
    },
    ...(password === "" ? {} : { password }),
    disableOfflineQueue: true,
  });
  // A failed call rejects too.
  client.on("error", () => undefined);
  try {
    await client.connect();
  } catch {
    return undefined;
  }
  try {
    return await client.sendCommand<string>([command]);
  } catch {
    return "";
  } finally {
    client.destroy();
  }
}
