import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { giveBack, listenOn, portOf } from "./free-port";

/** Where a private Redis is reached. */
export interface RedisAddress {
  /** For REDIS_URL. */
  readonly url: string;
  readonly connect: { readonly path: string } | { readonly host: string; readonly port: number };
  /** Empty on a socket, which the folder's rights guard. */
  readonly password: string;
  /** What the server is told, as arguments. */
  readonly settings: readonly string[];
}

/** A socket's path may be no longer on any system. */
const SOCKET_PATH_MAX = 100;
/** Anything else would have to be escaped in a URL. */
const PLAIN_PATH = /^[A-Za-z0-9._/-]+$/;
const LOOPBACK = "127.0.0.1";
/** Beside the data, so that a server left behind is found again. */
const PORT_FILE = "port.conf";

/**
 * The address of the Redis of a folder: a socket in it or, where its path will
 * not do for one, a loopback port with a password.
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
    // A file, as the arguments of a process are there for all to see.
    settings: [file],
  };
}

/** The port, or any with 0, if it can be listened on; it is given back at once. */
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
 * The first line that the Redis of an address answers a command with; "" when it
 * answered none; undefined when it is not there, or what is there does not take
 * its password.
 */
export function ask(
  { connect, password }: RedisAddress,
  command: "PING" | "SHUTDOWN",
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection(connect);
    let known = false;
    let text = "";
    const done = (answer?: string): void => {
      socket.destroy();
      resolve(answer);
    };
    const over = (): void => done(known ? "" : undefined);
    const send = (): void => {
      known = true;
      text = "";
      socket.write(`${command}\r\n`);
    };
    socket.setTimeout(ANSWER_WITHIN_MS, over);
    socket.on("connect", () => (password === "" ? send() : socket.write(`AUTH ${password}\r\n`)));
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const [line, rest] = text.split("\r\n", 2);
      if (rest === undefined) return;
      if (known) done(line);
      else if (line === "+OK") send();
      else done();
    });
    socket.on("error", over);
    socket.on("close", over);
  });
}
