import { createClient, ErrorReply, RESP_TYPES } from "redis";
import { StoreUnavailable } from "../ports/store-unavailable";
import type { StoreMeter } from "../ports/store-meter";
import type { Access, Address } from "./redis-url";

/** An argument of a function: text or exact bytes. */
export type Argument = string | Buffer;
/** A reply: bulk strings come as bytes. */
export type Reply = Buffer | string | number | null | undefined | readonly Reply[];

/** What one of several servers answered. */
export interface ServerReply {
  /** host:port, or the path of its socket. */
  readonly server: string;
  readonly reply: Reply;
}

/**
 * Redis, be it one server, the master that Sentinel knows of, or the masters of a
 * cluster. Replicas are never read. Everything that is sent is sent once: what
 * became of it when no answer came is for the caller to say.
 */
export interface Redis {
  /** Whether all keys are on one server, so that a function may touch keys of several shards. */
  readonly isOneMaster: boolean;
  /**
   * Sends one command whose first key is `key` to the master that has it; without
   * a key, always to the same one. Throws StoreUnavailable when there is no answer
   * in time.
   */
  command(key: string, args: readonly Argument[]): Promise<Reply>;
  /**
   * The same, answered when as many replicas as were asked for have all that was written on that
   * server by then, whoever wrote it; else throws StoreUnavailable.
   */
  confirmed(key: string, args: readonly Argument[]): Promise<Reply>;
  /** Sends a command to every master. Throws when one of them is out of reach, once all others have answered. */
  everywhere(args: readonly Argument[]): Promise<readonly ServerReply[]>;
  /** Calls back for each message on a channel that matches; subscribes again after every reconnection. */
  subscribe(pattern: string, heard: (channel: string) => void): Promise<void>;
  close(): Promise<void>;
}

/** The connection to one server, with a bound on how long anything may take. */
export interface Connection {
  readonly isReady: boolean;
  /** Resolves when it stands. Rejects when it is closed first or, where it does not reconnect, when it fails. */
  connect(): Promise<void>;
  /** Throws StoreUnavailable when there is no answer in time: whether it was done is then unknown. */
  command(args: readonly Argument[]): Promise<Reply>;
  /** The same, and throws StoreUnavailable when too few replicas have confirmed what was written on the server. */
  confirmed(args: readonly Argument[]): Promise<Reply>;
  /** Calls back for each message on a channel that matches; subscribes again after every reconnection. */
  subscribe(pattern: string, heard: (channel: string) => void): Promise<void>;
  close(): void;
}

/** A connection that is to be made. */
export interface ConnectionOptions {
  readonly access: Access;
  /** False: once lost it stays lost, for whoever knows better where to go instead. */
  readonly reconnects: boolean;
  readonly for: "commands" | "messages";
  /** Told of every connection error, at most once a reconnection attempt; by default, who is told of all. */
  readonly onError?: (error: Error) => void;
}

/** Makes connections to servers of one Redis, which stand when they are told to connect. */
export type Connect = (address: Address, options: ConnectionOptions) => Connection;

export interface ConnectorOptions {
  /** A further root certificate for TLS, in PEM. */
  readonly ca: Buffer | undefined;
  /** How many replicas must confirm what was written before `confirmed` answers; 0: it is the same as `command`. */
  readonly waitReplicas: number;
  onError(error: Error): void;
  readonly meter: StoreMeter | undefined;
}

const CONNECT_TIMEOUT_MS = 3_000;
const ANSWER_TIMEOUT_MS = 3_000;
const PING_INTERVAL_MS = 1_000;
const RECONNECT_MAX_MS = 500;
const COMMANDS_IN_FLIGHT_MAX = 10_000;
/** Well below the answer's time-out: what waits behind has to be answered too. */
const REPLICAS_WITHIN_MS = 1_000;

export function createConnector({ ca, waitReplicas, onError, meter }: ConnectorOptions): Connect {
  const template = createTemplate();
  return (address, options) => {
    const { access } = options;
    const make = (): Client => {
      const client = template.duplicate({
        socket: socketOf(address, options, ca),
        ...(access.username === undefined ? {} : { username: access.username }),
        ...(access.password === undefined ? {} : { password: access.password }),
        database: access.database,
      });
      return client.on("ready", () => meter?.connected()).on("error", () => meter?.disconnected());
    };
    // WAIT holds up whatever comes behind it, so what waits has a connection of its own.
    const waits = options.for === "commands" && waitReplicas > 0;
    return toConnection(make(), waits ? make() : undefined, waitReplicas, options.onError ?? onError);
  };
}

/** What all clients have in common. It takes the library 40 ms to make a client, and none to make another like it. */
function createTemplate() {
  return createClient({
    RESP: 3,
    disableOfflineQueue: true,
    commandsQueueMaxLength: COMMANDS_IN_FLIGHT_MAX,
    pingInterval: PING_INTERVAL_MS,
    maintNotifications: "disabled",
    // Ours bounds the answer too, and costs less than a signal for each command.
    commandOptions: { timeout: 0 },
  });
}

type Client = ReturnType<typeof createTemplate>;

function toConnection(
  main: Client,
  waiting: Client | undefined,
  waitReplicas: number,
  onError: (error: Error) => void,
): Connection {
  const clients = waiting === undefined ? [main] : [main, waiting];
  for (const client of clients) client.on("error", onError);
  const inBytes = main.withTypeMapping(BYTES);

  async function command(args: readonly Argument[]): Promise<Reply> {
    return answered(inBytes.sendCommand<Reply>([...args]));
  }
  return {
    get isReady() {
      return clients.every((client) => client.isReady);
    },
    async connect() {
      await Promise.all(clients.map((client) => client.connect()));
    },
    command,
    async confirmed(args) {
      if (waiting === undefined) return command(args);
      const [reply, replicas] = await answered(
        Promise.all([
          waiting.withTypeMapping(BYTES).sendCommand<Reply>([...args]),
          waiting.sendCommand<number>(["WAIT", String(waitReplicas), String(REPLICAS_WITHIN_MS)]),
        ]),
      );
      if (replicas < waitReplicas) throw new StoreUnavailable("too few replicas have confirmed it");
      return reply;
    },
    async subscribe(pattern, heard) {
      await answered(main.pSubscribe(pattern, (_message, channel) => heard(channel)));
    },
    close() {
      for (const client of clients) client.destroy();
    },
  };
}

/** Bulk strings as bytes, maps as lists of keys and values in turn. */
const BYTES = { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.MAP]: Array };

function socketOf(address: Address, { access, reconnects }: ConnectionOptions, ca: Buffer | undefined) {
  const timeouts = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Above the ping interval, so that it closes only a connection that hangs.
    socketTimeout: ANSWER_TIMEOUT_MS + 2 * PING_INTERVAL_MS,
    reconnectStrategy: reconnects
      ? (retries: number) => Math.min(RECONNECT_MAX_MS, 20 * 2 ** retries)
      : (false as const),
  };
  return "host" in address && access.tls
    ? { ...address, tls: true as const, ...(ca === undefined ? {} : { ca }), ...timeouts }
    : { ...address, tls: false as const, ...timeouts };
}

/** Bounds the wait for an answer, and turns a lost connection into StoreUnavailable. */
export async function answered<T>(reply: Promise<T>, withinMs = ANSWER_TIMEOUT_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new StoreUnavailable("no answer in time")), withinMs);
  });
  try {
    return await Promise.race([reply, late]);
  } catch (error) {
    throw isOutOfReach(error) ? new StoreUnavailable("out of reach", { cause: error }) : error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Error replies that say "not now" rather than "wrong": loading, out of memory,
 * no disk, a replica, failing over, a slot that is another server's by now or on
 * its way there. ASK is never followed: while a slot moves, its keys are on two
 * servers, and a function would see but a part of them.
 */
const NOT_NOW =
  /^(LOADING|OOM|MISCONF|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS|UNBLOCKED|MOVED|ASK)\b/;

/** The reply that was an error, also where it was turned into StoreUnavailable. */
export function errorReply(error: unknown): string | undefined {
  const reply = error instanceof StoreUnavailable ? error.cause : error;
  return reply instanceof ErrorReply ? reply.message : undefined;
}

function isOutOfReach(error: unknown): boolean {
  if (error instanceof ErrorReply) return NOT_NOW.test(error.message);
  // What is no reply of Redis is the connection's doing, but for an argument that cannot be sent: a bug of ours.
  return !(error instanceof StoreUnavailable || error instanceof TypeError);
}
