import { createHash } from "node:crypto";
import { types } from "node:util";
import {
  ClientOfflineError,
  createClient,
  createCluster,
  ErrorReply,
  type RedisClientOptions,
  type RedisClusterOptions,
} from "@redis/client";
import type { WorkspaceDocument } from "./document";
import type { GameStore, Wake } from "./store";

export interface RedisStoreOptions {
  /** The game's name. Games with different names can share a Redis. */
  readonly game: string;
  /** First part of all keys; "chatbridge-game" by default. It cannot contain "{" or "}". */
  readonly prefix?: string;
}

/**
 * Returns a store in Redis, for a game with any number of processes. It connects at the first call. While Redis is
 * unavailable, calls reject, and the store reconnects. Set `appendonly yes` and `maxmemory-policy noeviction` in Redis;
 * with `appendfsync always`, a saved document also survives a crash of the machine.
 *
 * @param redis a URL (`redis://` or `rediss://`), or options of `createClient` or, for a Redis Cluster, of `createCluster`
 */
export function redisStore(
  redis: string | RedisClientOptions | RedisClusterOptions,
  options: RedisStoreOptions,
): GameStore {
  const keys = createKeys(options);
  const connection = new Connection(connect(redis));

  return {
    async load(workspaceId) {
      const [version, document] = await connection.call((commands) =>
        commands.hmGet(keys.document(workspaceId), ["version", "document"]),
      );
      if (typeof version !== "string" || typeof document !== "string") return undefined;
      return { version: Number(version), document: JSON.parse(document) as WorkspaceDocument };
    },
    async save(workspaceId, { version, document }, wakeAtMs) {
      const args = [version - 1, version, JSON.stringify(document), workspaceId, wakeAtMs ?? ""].map(String);
      return (await connection.call((commands) => run(commands, SAVE, keys.of(workspaceId), args))) === 1;
    },
    async remove(workspaceId) {
      await connection.call((commands) => run(commands, REMOVE, keys.of(workspaceId), [workspaceId]));
    },
    async wakes() {
      const found = await Promise.all(keys.allWakes().map((key) => readWakes(connection, key)));
      return found.flat();
    },
    close: () => connection.close(),
  };
}

/**
 * Number of parts into which the workspaces of a game are divided; it never changes. All keys of a part have the same
 * hash tag, so they are in the same slot of a Redis Cluster. So one script can change a document and the wake time of
 * its workspace atomically. The parts spread the load of a game over the masters, and `wakes` reads only a few keys.
 */
const PARTS = 16;

function createKeys({ game, prefix = "chatbridge-game" }: RedisStoreOptions) {
  if (/[{}]/.test(prefix))
    throw new Error('the prefix of the Redis keys contains "{" or "}": choose another prefix');
  const tagOf = (part: number): string => `${prefix}:{${encodeURIComponent(game)}:${part}}`;
  const partOf = (workspaceId: string): number =>
    createHash("sha256").update(workspaceId).digest().readUInt32BE() % PARTS;
  const document = (workspaceId: string): string => `${tagOf(partOf(workspaceId))}:document:${workspaceId}`;
  const wakes = (part: number): string => `${tagOf(part)}:wakes`;
  return {
    /** The key of a hash with the fields `version` and `document`. */
    document,
    /** The keys of the document and of the wake times, for the scripts. */
    of: (workspaceId: string) => [document(workspaceId), wakes(partOf(workspaceId))],
    /** The keys of the sorted sets of wake times: the member is a workspace id, the score is a time in ms. */
    allWakes: () => Array.from({ length: PARTS }, (_, part) => wakes(part)),
  };
}

interface Script {
  readonly code: string;
  readonly sha: string;
}

/** KEYS: document, wakes. ARGV: the version that must be stored, the new version, document, workspace id, wake time. */
const SAVE = toScript(`
  local stored = redis.call('HGET', KEYS[1], 'version') or '0'
  if stored ~= ARGV[1] then return 0 end
  redis.call('HSET', KEYS[1], 'version', ARGV[2], 'document', ARGV[3])
  if ARGV[5] == '' then redis.call('ZREM', KEYS[2], ARGV[4]) else redis.call('ZADD', KEYS[2], ARGV[5], ARGV[4]) end
  return 1`);

/** KEYS: document, wakes. ARGV: workspace id. */
const REMOVE = toScript(`
  redis.call('ZREM', KEYS[2], ARGV[1])
  return redis.call('DEL', KEYS[1])`);

function toScript(code: string): Script {
  return { code, sha: createHash("sha1").update(code).digest("hex") };
}

async function run(
  commands: Commands,
  { code, sha }: Script,
  keys: string[],
  args: string[],
): Promise<unknown> {
  const call = { keys, arguments: args };
  try {
    return await commands.evalSha(sha, call);
  } catch (error) {
    // Redis has not loaded the script since it started, so the script has not run.
    if (!(error instanceof ErrorReply && error.message.startsWith("NOSCRIPT"))) throw error;
    return commands.eval(code, call);
  }
}

/** Wake times in one page. */
const PAGE = 1_000;

/**
 * Reads in pages, so that Redis is not blocked. Unlike reads of ranges, a scan finds all members that exist from its
 * beginning to its end.
 */
async function readWakes(connection: Connection, key: string): Promise<readonly Wake[]> {
  const found = new Map<string, Wake>();
  let cursor = "0";
  do {
    const page = await connection.call((commands) => commands.zScan(key, cursor, { COUNT: PAGE }));
    // A scan can return a member twice.
    for (const { value, score } of page.members) {
      const workspaceId = String(value);
      found.set(workspaceId, { workspaceId, atMs: Number(score) });
    }
    cursor = String(page.cursor);
  } while (cursor !== "0");
  return [...found.values()];
}

/** The commands of a server or a cluster that the store uses. */
interface Commands {
  hmGet(key: string, fields: string[]): Promise<readonly unknown[]>;
  zScan(key: string, cursor: string, options: { COUNT: number }): Promise<ScanPage>;
  eval(code: string, call: { keys: string[]; arguments: string[] }): Promise<unknown>;
  evalSha(sha: string, call: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

interface ScanPage {
  readonly cursor: unknown;
  readonly members: readonly { readonly value: unknown; readonly score: unknown }[];
}

interface Client extends Commands {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  connect(): Promise<unknown>;
  destroy(): void;
  on(event: "error" | "node-error", heard: (error: unknown) => void): unknown;
}

const CONNECT_WITHIN_MS = 3_000;
const ANSWER_WITHIN_MS = 3_000;
const PING_EVERY_MS = 1_000;
const RECONNECT_FIRST_MS = 20;
const RECONNECT_MOST_MS = 500;
/** Maximum number of calls without an answer. */
const CALLS_MOST = 10_000;

function connect(redis: string | RedisClientOptions | RedisClusterOptions): Client {
  const socket = {
    connectTimeout: CONNECT_WITHIN_MS,
    // Longer than the interval of pings, so this timeout closes only connections that hang.
    socketTimeout: ANSWER_WITHIN_MS + 2 * PING_EVERY_MS,
    reconnectStrategy: (retries: number) => Math.min(RECONNECT_MOST_MS, RECONNECT_FIRST_MS * 2 ** retries),
  };
  // The caller's options cannot override these options.
  const fixed = {
    // Calls must reject while the connection is lost.
    disableOfflineQueue: true,
    commandsQueueMaxLength: CALLS_MOST,
    pingInterval: PING_EVERY_MS,
    // Replies must be texts.
    commandOptions: {},
  };
  const withSocket = (options: RedisClientOptions = {}) =>
    ({ ...options, ...fixed, socket: { ...options.socket, ...socket } }) as RedisClientOptions;
  if (typeof redis === "string") return createClient(withSocket({ url: checkedUrl(redis) }));
  if (!("rootNodes" in redis)) {
    if (redis.url !== undefined) checkedUrl(redis.url);
    return createClient(withSocket(redis));
  }
  for (const { url } of redis.rootNodes) if (url !== undefined) checkedUrl(url);
  return createCluster({
    topologyRefreshOnReconnectionAttemptStrategy: RECONNECT_MOST_MS,
    ...redis,
    defaults: withSocket(redis.defaults),
    commandOptions: {},
  });
}

/** Throws an error that does not contain the URL, because the URL can contain a password. */
function checkedUrl(url: string): string {
  if (URL.canParse(url) && /^rediss?:$/.test(new URL(url).protocol)) return url;
  throw new Error(
    "the Redis URL of the store is invalid: its form is redis://<user>:<password>@<host>:<port>",
  );
}

/** The connection of a store. Each call gets an answer, or rejects, within a few seconds. */
class Connection {
  readonly #client: Client;
  #connecting: Promise<unknown> | undefined;
  #calls = 0;
  #isClosed = false;
  #lastError: unknown;

  constructor(client: Client) {
    this.#client = client;
    // The client reconnects. Calls that fail in the meantime reject with this error.
    for (const event of ["error", "node-error"] as const)
      client.on(event, (error) => (this.#lastError = error));
  }

  async call<T>(act: (commands: Commands) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Error("the store is closed");
    if (this.#calls >= CALLS_MOST)
      throw new Error(`${CALLS_MOST} calls of the store already wait for Redis: retry later`);
    this.#calls++;
    let isLate = false;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        isLate = true;
        reject(new Error("Redis did not answer in time"));
      }, ANSWER_WITHIN_MS);
    });
    const answered = this.#connect().then(() => {
      // The call has already been rejected, so it must not change anything.
      if (isLate) throw new Error("connected too late");
      return act(this.#client);
    });
    try {
      return await Promise.race([answered, late]);
    } catch (error) {
      throw this.#faultOf(error);
    } finally {
      clearTimeout(timer);
      this.#calls--;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#client.isOpen) this.#client.destroy();
  }

  /** Waits for the first connection. The client itself reconnects after a lost connection. */
  async #connect(): Promise<void> {
    if (this.#connecting === undefined && this.#client.isOpen) return;
    this.#connecting ??= this.#client.connect().finally(() => (this.#connecting = undefined));
    await this.#connecting;
  }

  /** Returns an error without a cause, because the errors of the client may contain options. */
  #faultOf(error: unknown): Error {
    if (error instanceof ErrorReply) return new Error(`Redis rejects a call: ${replyOf(error)}`);
    const isOffline = error instanceof ClientOfflineError || !this.#client.isReady;
    // Errors of calls do not say why the connection was lost.
    const reason = isOffline ? (this.#lastError ?? error) : error;
    return new Error(
      `Redis is unavailable: ${reason instanceof ErrorReply ? replyOf(reason) : messageOf(reason)}`,
    );
  }
}

/** A reply about an unknown command repeats the command's arguments. */
const replyOf = ({ message }: ErrorReply): string => message.replace(/,? with args beginning with.*/s, "");

function messageOf(error: unknown): string {
  const [first = error] = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [];
  return types.isNativeError(first) ? first.message : String(first);
}
