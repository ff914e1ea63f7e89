import { createClient, ErrorReply, RESP_TYPES } from "@redis/client";
import { StoreFull, StoreUnavailable } from "../../ports/store-faults";
import type { StoreMeter } from "../../ports/meters";
import { createEntriesReader } from "./entries-connection";
import type { StreamEntries } from "./entries-decoder";
import type { Access, Address } from "./url";

/** An argument of a command: text or exact bytes. */
export type Argument = string | Buffer;
/** A reply of Redis. Bulk strings are buffers. */
export type Reply = Buffer | string | number | null | undefined | readonly Reply[];

/** One server's reply to a command that was sent to several servers. */
export interface ServerReply {
  /** host:port, or the path of the server's socket. */
  readonly server: string;
  readonly reply: Reply;
}

/**
 * Redis: one server, the master that Sentinel names, or the masters of a cluster. Replicas are never read. A command
 * that may have been executed is not sent again. A call that gets no answer is rejected, and the caller decides whether
 * to retry.
 */
export interface Redis {
  /** Whether all keys are on one server, so that one function call can use keys of several shards. */
  readonly isOneMaster: boolean;
  /**
   * Sends one command to the master that stores `key`, the command's first key. On a cluster, a command with an empty
   * `key` goes to the master of slot 0. Throws StoreUnavailable when there is no answer in time.
   */
  command(key: string, args: readonly Argument[]): Promise<Reply>;
  /**
   * Executes a command as `command` does, then waits until enough replicas have confirmed all writes of the server so
   * far, including writes of other clients. Throws StoreUnavailable when too few replicas confirm in time.
   */
  confirmed(key: string, args: readonly Argument[]): Promise<Reply>;
  /** Sends a command that reads the entries of the stream `key`, as `command` does. Decodes large replies faster. */
  entries(key: string, args: readonly string[]): Promise<StreamEntries>;
  /**
   * Sends a command to every master. Throws when a master is unavailable, but only after all other masters have
   * answered.
   *
   * @param except the servers that do not get the command
   */
  everywhere(args: readonly Argument[], except?: ReadonlySet<string>): Promise<readonly ServerReply[]>;
  /** Sends a command to every master, and returns the replies of the masters that did not fail. Never rejects. */
  whereAvailable(args: readonly Argument[]): Promise<readonly ServerReply[]>;
  /** Calls `heard` for each message on a channel that matches `pattern`. Subscribes again after every reconnection. */
  subscribe(pattern: string, heard: (channel: string) => void): Promise<void>;
  close(): Promise<void>;
}

export type Connection = ReturnType<typeof toConnection>;

/** The options of one connection. */
export interface ConnectionOptions {
  readonly access: Access;
  /** False when a lost connection must stay closed, because the caller chooses the next server. */
  readonly reconnects: boolean;
  readonly for: "commands" | "messages";
  /**
   * Called with connection errors, at most once per reconnection attempt. The default is `onError` of
   * `ConnectorOptions`.
   */
  readonly onError?: (error: Error) => void;
}

export type Connect = ReturnType<typeof createConnector>;

export interface ConnectorOptions {
  /** An additional root certificate for TLS, in PEM. */
  readonly roots?: readonly Buffer[] | undefined;
  /**
   * Number of replicas that must confirm a write before `confirmed` resolves; 0 by default. With 0, `confirmed` does
   * the same as `command`.
   */
  readonly waitReplicas?: number | undefined;
  /** Called with connection errors. */
  onError(error: Error): void;
  readonly meter?: StoreMeter | undefined;
}

const CONNECT_TIMEOUT_MS = 3_000;
const ANSWER_TIMEOUT_MS = 3_000;
const PING_INTERVAL_MS = 1_000;
const RECONNECT_MAX_MS = 500;
const COMMANDS_IN_FLIGHT_MAX = 10_000;
/**
 * Timeout of WAIT. This timeout is well below ANSWER_TIMEOUT_MS, because commands queued behind a WAIT must also be
 * answered in time.
 */
const REPLICAS_WITHIN_MS = 1_000;

/**
 * Returns a function that creates connections to the servers of one Redis. The caller must open each connection with
 * the connection's method `connect`.
 */
export function createConnector({ roots, waitReplicas = 0, onError, meter }: ConnectorOptions) {
  const template = createTemplate();
  return (address: Address, options: ConnectionOptions): Connection => {
    const { access } = options;
    const reportTo = options.onError ?? onError;
    const make = (): Client => {
      const client = template.duplicate({
        socket: socketOf(address, options, roots),
        ...(access.username === undefined ? {} : { username: access.username }),
        ...(access.password === undefined ? {} : { password: access.password }),
        database: access.database,
      });
      return client.on("ready", () => meter?.connected()).on("error", () => meter?.disconnected());
    };
    // WAIT blocks all later commands on its connection, so confirmed commands use a separate connection.
    const waits = options.for === "commands" && waitReplicas > 0;
    const entries = createEntriesReader({
      address,
      access,
      roots,
      answerTimeoutMs: ANSWER_TIMEOUT_MS,
      commandsMax: COMMANDS_IN_FLIGHT_MAX,
      onError: reportTo,
    });
    return toConnection(
      { main: make(), waiting: waits ? make() : undefined, entries },
      waitReplicas,
      reportTo,
    );
  };
}

/**
 * Creates the template of all clients. The library takes 40 ms to create a client, but almost no time to duplicate a
 * client.
 */
function createTemplate() {
  return createClient({
    RESP: 3,
    disableOfflineQueue: true,
    commandsQueueMaxLength: COMMANDS_IN_FLIGHT_MAX,
    pingInterval: PING_INTERVAL_MS,
    maintNotifications: "disabled",
    // The function `answered` applies the timeout for answers instead of the library. The timer in `answered` costs
    // less than the signal that the library would create for each command.
    commandOptions: { timeout: 0 },
  });
}

type Client = ReturnType<typeof createTemplate>;

interface Clients {
  readonly main: Client;
  /** The client for `confirmed`. */
  readonly waiting: Client | undefined;
  readonly entries: ReturnType<typeof createEntriesReader>;
}

/** The connection to one server. Every call has a timeout. */
function toConnection(
  { main, waiting, entries }: Clients,
  waitReplicas: number,
  onError: (error: Error) => void,
) {
  const clients = waiting === undefined ? [main] : [main, waiting];
  for (const client of clients) client.on("error", onError);
  const inBytes = main.withTypeMapping(BYTES);

  /** Throws StoreUnavailable when there is no answer in time. The command may or may not have been executed. */
  async function command(args: readonly Argument[]): Promise<Reply> {
    return answered(inBytes.sendCommand<Reply>([...args]));
  }
  return {
    get isReady() {
      return clients.every((client) => client.isReady);
    },
    /**
     * Resolves when the connection is ready. Rejects when the connection is closed before it is ready. Without
     * `reconnects`, also rejects when the connection fails.
     */
    async connect(): Promise<void> {
      await Promise.all(clients.map((client) => client.connect()));
    },
    command,
    /**
     * Executes a command as `command` does, and then waits for the replicas. Throws StoreUnavailable when too few
     * replicas have confirmed the server's writes.
     */
    async confirmed(args: readonly Argument[]): Promise<Reply> {
      if (waiting === undefined) return command(args);
      const [reply, replicas] = await answered(
        Promise.all([
          waiting.withTypeMapping(BYTES).sendCommand<Reply>([...args]),
          waiting.sendCommand<number>(["WAIT", String(waitReplicas), String(REPLICAS_WITHIN_MS)]),
        ]),
      );
      if (replicas < waitReplicas) throw new StoreUnavailable("too few replicas have confirmed the write");
      return reply;
    },
    async entries(args: readonly string[]): Promise<StreamEntries> {
      // Without this check, the connection could reach a server that has replaced the server of `main`.
      if (!main.isReady) throw new StoreUnavailable("Redis is unavailable");
      return entries.read(args).catch((error: unknown) => {
        throw faultOf(error);
      });
    },
    /** Calls `heard` for each message on a channel that matches `pattern`. Subscribes again after reconnections. */
    async subscribe(pattern: string, heard: (channel: string) => void): Promise<void> {
      await answered(main.pSubscribe(pattern, (_message, channel) => heard(channel)));
    },
    close(): void {
      entries.close();
      for (const client of clients) client.destroy();
    },
  };
}

/** In replies, bulk strings become buffers, and maps become lists of alternating keys and values. */
const BYTES = { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.MAP]: Array };

function socketOf(
  address: Address,
  { access, reconnects }: ConnectionOptions,
  roots: ConnectorOptions["roots"],
) {
  const timeouts = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    // This timeout is longer than the ping interval, so it closes only connections that hang.
    socketTimeout: ANSWER_TIMEOUT_MS + 2 * PING_INTERVAL_MS,
    reconnectStrategy: reconnects
      ? (retries: number) => Math.min(RECONNECT_MAX_MS, 20 * 2 ** retries)
      : (false as const),
  };
  return "host" in address && access.tls
    ? {
        ...address,
        tls: true as const,
        ...(roots === undefined ? {} : { ca: roots as Buffer[] }),
        ...timeouts,
      }
    : { ...address, tls: false as const, ...timeouts };
}

const REDIS_IS_FULL =
  "Redis has reached its maxmemory and rejects new data; check that games ack and bridges poll, or raise maxmemory";

/**
 * Waits for a reply. Throws StoreUnavailable after a timeout, a lost connection or a temporary error reply; StoreFull
 * when Redis is out of memory.
 */
export async function answered<T>(reply: Promise<T>, withinMs = ANSWER_TIMEOUT_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new StoreUnavailable("Redis did not answer in time")), withinMs);
  });
  try {
    return await Promise.race([reply, late]);
  } catch (error) {
    throw faultOf(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the error that a call throws when its connection fails with `error`. */
function faultOf(error: unknown): unknown {
  if (error instanceof ErrorReply && error.message.startsWith("OOM")) {
    return new StoreFull(REDIS_IS_FULL, { cause: error });
  }
  return isOutOfReach(error) ? new StoreUnavailable("Redis is unavailable", { cause: error }) : error;
}

/**
 * Temporary error replies. Each of them means that the server is loading, out of memory, unable to write to disk, a
 * replica or failing over, or that the slot has moved or is moving to another server. ASK is never followed: while a
 * slot moves, its keys are on two servers, and a function would see only some of these keys.
 */
const NOT_NOW =
  /^(LOADING|OOM|MISCONF|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS|UNBLOCKED|MOVED|ASK)\b/;

/**
 * If the error is an error reply, or a StoreUnavailable that an error reply has caused, returns the text of the reply;
 * otherwise undefined.
 */
export function errorReply(error: unknown): string | undefined {
  const reply = error instanceof StoreUnavailable ? error.cause : error;
  return reply instanceof ErrorReply ? reply.message : undefined;
}

function isOutOfReach(error: unknown): boolean {
  if (error instanceof ErrorReply) return NOT_NOW.test(error.message);
  // A TypeError means that core passed an argument that cannot be sent. A StoreUnavailable is thrown unchanged. Any
  // other error comes from the connection.
  return !(error instanceof StoreUnavailable || error instanceof TypeError);
}
