import { createClient, ErrorReply, RESP_TYPES } from "redis";
import { StoreUnavailable } from "../ports/store-unavailable";

/** An argument of a function: text or exact bytes. */
export type Argument = string | Buffer;
/** A reply: bulk strings come as bytes. */
export type Reply = Buffer | string | number | null | undefined | readonly Reply[];

/** The connection to Redis, with a bound on how long anything may take. */
export interface Redis {
  /** Sends one command whose first key is `key`. Throws StoreUnavailable when there is no answer in time. */
  command(key: string, args: readonly Argument[]): Promise<Reply>;
  /** Sends a command to every master. */
  everywhere(args: readonly Argument[]): Promise<void>;
  /** Calls back for each message on a channel that matches; subscribes again after every reconnection. */
  subscribe(pattern: string, heard: (channel: string) => void): Promise<void>;
  close(): Promise<void>;
}

export interface RedisOptions {
  /** redis://, rediss:// or unix:///path/of/socket */
  readonly url: string;
  /** Told of every connection error, at most once a reconnection attempt. */
  onError(error: Error): void;
}

const CONNECT_TIMEOUT_MS = 3_000;
const ANSWER_TIMEOUT_MS = 3_000;
const PING_INTERVAL_MS = 1_000;
const RECONNECT_MAX_MS = 500;
const COMMANDS_IN_FLIGHT_MAX = 10_000;

/** Connects, waiting until the first connection stands. Reconnects by itself until it is closed. */
export async function connectRedis({ url, onError }: RedisOptions): Promise<Redis> {
  const client = clientFor(url);
  const subscriber = client.duplicate();
  for (const connection of [client, subscriber]) connection.on("error", onError);
  await Promise.all([client.connect(), subscriber.connect()]);
  const inBytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });

  async function command(_key: string, args: readonly Argument[]): Promise<Reply> {
    return answered(inBytes.sendCommand<Reply>([...args]));
  }
  return {
    command,
    async everywhere(args) {
      await command("", args);
    },
    async subscribe(pattern, heard) {
      await subscriber.pSubscribe(pattern, (_message, channel) => heard(channel));
    },
    async close() {
      // Whoever still waits has been told to stop; nothing is lost by cutting the connection.
      for (const connection of [client, subscriber]) connection.destroy();
    },
  };
}

function clientFor(url: string) {
  const timeouts = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Above the ping interval, so that it closes only a connection that hangs.
    socketTimeout: ANSWER_TIMEOUT_MS + 2 * PING_INTERVAL_MS,
    reconnectStrategy: (retries: number) => Math.min(RECONNECT_MAX_MS, 20 * 2 ** retries),
  };
  const where = url.startsWith("unix://")
    ? { socket: { path: decodeURIComponent(new URL(url).pathname), tls: false as const, ...timeouts } }
    : { url, socket: timeouts };
  return createClient({
    ...where,
    RESP: 3,
    disableOfflineQueue: true,
    commandsQueueMaxLength: COMMANDS_IN_FLIGHT_MAX,
    pingInterval: PING_INTERVAL_MS,
    maintNotifications: "disabled",
    // Ours bounds the answer too, and costs less than a signal for each command.
    commandOptions: { timeout: 0 },
  });
}

/** Bounds the wait for an answer, and turns a lost connection into StoreUnavailable. */
async function answered<T>(reply: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new StoreUnavailable("no answer in time")), ANSWER_TIMEOUT_MS);
  });
  try {
    return await Promise.race([reply, late]);
  } catch (error) {
    throw isOutOfReach(error) ? new StoreUnavailable("out of reach", { cause: error }) : error;
  } finally {
    clearTimeout(timer);
  }
}

/** Error replies that say "not now" rather than "wrong": loading, out of memory, no disk, a replica, failing over. */
const NOT_NOW = /^(LOADING|OOM|MISCONF|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS)\b/;

function isOutOfReach(error: unknown): boolean {
  if (error instanceof ErrorReply) return NOT_NOW.test(error.message);
  // What is no reply of Redis is the connection's doing, but for an argument that cannot be sent: a bug of ours.
  return !(error instanceof StoreUnavailable || error instanceof TypeError);
}
