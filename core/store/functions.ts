import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ErrorReply } from "redis";
import type { StoreMeter } from "../ports/store-meter";
import { StoreUnavailable } from "../ports/store-unavailable";
import type { Argument, Redis, Reply } from "./redis";
import { asList } from "./reply";

/** The files of the function library, in the order in which they are joined. */
const FILES = [
  "library",
  "leases",
  "admit",
  "backlog",
  "append",
  "held",
  "health",
  "log",
  "hold",
  "push",
  "workspace",
  "follow",
];

/** The functions by name; each is described where it is written, in functions/*.lua. */
export type FunctionName =
  | "admit"
  | "append"
  | "page"
  | "publish"
  | "read_pushes"
  | "record_pushes"
  | "log_delivery"
  | "read_deliveries"
  | "read_newer"
  | "find_failing"
  | "poll_health"
  | "read_mail"
  | "remove_mail"
  | "put_workspace"
  | "get_workspaces"
  | "delete_workspace"
  | "open_group"
  | "take_lease"
  | "drop_lease"
  | "read_new"
  | "read_again"
  | "ack"
  | "join_group"
  | "leave_group"
  | "read_backlog";

/**
 * Those whose answer tells a caller that something is stored, and those that show
 * what is. Where replicas are to confirm writes, these wait for them: what a bridge
 * or a game was shown and a failover then took back would come again, from who
 * was never told that it is stored, under another id. What the other functions
 * write is made good again, or matters only for a moment.
 */
const CONFIRMED: ReadonlySet<FunctionName> = new Set([
  "append",
  "publish",
  "put_workspace",
  "delete_workspace",
  "page",
  "read_pushes",
  "read_new",
  "read_again",
]);

/** What a function is called with for one shard. */
export interface ShardCall {
  /** Of the shard's keys. */
  readonly prefix: string;
  readonly args: readonly Argument[];
  /** Long texts, in the order in which the function takes them. Packed with the arguments, they would be hashed once more. */
  readonly bodies?: readonly Argument[];
}

/** Calls functions of the library, which is loaded when a server turns out to lack it. */
export interface Functions {
  /** Whether one call may be for several shards. */
  readonly spansShards: boolean;
  /** @param prefix of the shard that is called for */
  call(name: FunctionName, prefix: string, args: readonly Argument[]): Promise<Reply>;
  /**
   * Calls a function for several shards in one step, and answers what it answers for each.
   *
   * @param items how many requests travel together
   */
  callEach(name: FunctionName, shards: readonly ShardCall[], items: number): Promise<readonly Reply[]>;
  /** Loads the library on every master. */
  load(): Promise<void>;
}

/**
 * The library is named after what it says, and so are its functions: cores of
 * two releases can share a Redis, each with a library of its own.
 */
function readLibrary(): { readonly version: string; readonly code: string } {
  const parts = FILES.map((file) => readFileSync(join(__dirname, "functions", `${file}.lua`), "utf8"));
  const source = parts.join("\n");
  const version = createHash("sha256").update(source).digest("hex").slice(0, 12);
  return { version, code: `#!lua name=chatbridge_${version}\n${source.replaceAll("@V@", version)}` };
}

const LENGTH_BYTES = 4;

/** The heads of texts of up to 127 bytes: the length in four bytes, all of which are ASCII. */
const SHORT_HEADS = Array.from({ length: 128 }, (_, length) => `${String.fromCharCode(length)}\0\0\0`);

/** Packs arguments into one, each behind its length, for the library to unpack. Short texts make a text, which is cheaper to write. */
export function packArguments(args: readonly Argument[]): Argument {
  let packed = "";
  for (const arg of args) {
    const head = typeof arg === "string" ? SHORT_HEADS[Buffer.byteLength(arg)] : undefined;
    if (head === undefined) return packBytes(args);
    packed += head + String(arg);
  }
  return packed;
}

function packBytes(args: readonly Argument[]): Buffer {
  let size = 0;
  for (const arg of args) size += LENGTH_BYTES + Buffer.byteLength(arg);
  const packed = Buffer.allocUnsafe(size);
  let at = 0;
  for (const arg of args) {
    const written =
      typeof arg === "string"
        ? packed.write(arg, at + LENGTH_BYTES, "utf8")
        : arg.copy(packed, at + LENGTH_BYTES);
    at = packed.writeUInt32LE(written, at) + written;
  }
  return packed;
}

/** The fields of what a function packed as arguments are packed. */
export function unpackFields(packed: Buffer): readonly Buffer[] {
  const fields: Buffer[] = [];
  for (let at = 0; at < packed.length;) {
    const start = at + LENGTH_BYTES;
    at = start + packed.readUInt32LE(at);
    fields.push(packed.subarray(start, at));
  }
  return fields;
}

function isNotFound(error: unknown): boolean {
  return error instanceof ErrorReply && /function not found/i.test(error.message);
}

export function createFunctions(redis: Redis, meter?: StoreMeter): Functions {
  const { version, code } = readLibrary();
  const names = new Map<FunctionName, string>();
  const fullName = (name: FunctionName): string => {
    const known = names.get(name) ?? `${name}_${version}`;
    names.set(name, known);
    return known;
  };
  let loading: Promise<void> | undefined;

  async function loadEverywhere(): Promise<void> {
    await redis.everywhere(["FUNCTION", "LOAD", "REPLACE", code]);
  }

  // Many calls find the library gone at once; it is loaded once.
  function load(): Promise<void> {
    loading ??= loadEverywhere().finally(() => (loading = undefined));
    return loading;
  }

  async function call(name: FunctionName, shards: readonly ShardCall[]): Promise<Reply> {
    const send = CONFIRMED.has(name) ? redis.confirmed : redis.command;
    const prefixes = shards.map(({ prefix }) => prefix);
    const [prefix = ""] = prefixes;
    const command: Argument[] = ["FCALL", fullName(name), String(shards.length), ...prefixes];
    for (const { args } of shards) command.push(packArguments(args));
    for (const { bodies = [] } of shards) command.push(...bodies);
    try {
      return await send(prefix, command);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    // Another master may be out of reach meanwhile, which is no matter for this call.
    const fault = await load().then(
      () => undefined,
      (error: unknown) => error,
    );
    try {
      return await send(prefix, command);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // It was this master that could not load it, or has lost it again: nothing was done, and later it may.
      throw new StoreUnavailable("the functions could not be loaded", { cause: fault ?? error });
    }
  }

  async function metered(name: FunctionName, shards: readonly ShardCall[], items?: number): Promise<Reply> {
    const began = performance.now();
    let isAnswered = false;
    try {
      const reply = await call(name, shards);
      isAnswered = true;
      return reply;
    } finally {
      meter?.called(name, items, performance.now() - began, isAnswered);
    }
  }

  return {
    load,
    spansShards: redis.isOneMaster,
    call: (name, prefix, args) => metered(name, [{ prefix, args }]),
    async callEach(name, shards, items) {
      const reply = await metered(name, shards, items);
      return shards.length === 1 ? [reply] : asList(reply);
    },
  };
}
