import { ErrorReply } from "@redis/client";
import type { StoreMeter } from "../ports/meters";
import { StoreFull, StoreUnavailable } from "../ports/store-faults";
import type { Argument, Redis, Reply } from "./redis/redis";
import { readLibrary, type Library } from "./read-library";
import { asList, asText } from "./redis/reply";

/** The names of the functions. Each function is documented in functions/*.lua. */
export type FunctionName =
  | "admit"
  | "append"
  | "change_mark"
  | "tidy_inbound"
  | "first_post"
  | "page"
  | "publish"
  | "read_pushes"
  | "record_pushes"
  | "log_delivery"
  | "read_deliveries"
  | "read_newer"
  | "read_entry"
  | "read_event"
  | "read_failed"
  | "send_again"
  | "find_failing"
  | "poll_health"
  | "read_mail"
  | "remove_mail"
  | "read_operator_events"
  | "remove_operator_event"
  | "create_workspace"
  | "admit_test"
  | "put_workspace"
  | "get_workspaces"
  | "reseal_workspaces"
  | "delete_workspace"
  | "log_change"
  | "put_sealed"
  | "read_sealed"
  | "take_sealed"
  | "register_group"
  | "list_groups"
  | "adopt_groups"
  | "touch_groups"
  | "begin_removal"
  | "end_removal"
  | "group_names"
  | "count_members"
  | "open_group"
  | "drop_group"
  | "take_lease"
  | "drop_lease"
  | "read_new"
  | "read_again"
  | "ack"
  | "dead_letter"
  | "join_group"
  | "leave_group"
  | "read_backlog"
  | "add_requests"
  | "log_requests"
  | "read_hours"
  | "read_requests"
  | "check_states"
  | "list_states"
  | "count_states"
  | "read_states";

/**
 * The functions whose answers either confirm that data is stored or contain stored events. With `REDIS_WAIT_REPLICAS`,
 * core answers the callers of these functions only after the replicas have confirmed the writes. Without this wait, a
 * failover could undo the write of an event that a bridge or a game has already seen. The sender, which got no
 * confirmation, would send the event again, and the repeat would get a different event id. If a failover loses a write
 * of another function, core repeats the write, or the loss matters only briefly.
 */
const CONFIRMED: ReadonlySet<FunctionName> = new Set([
  "append",
  "publish",
  "create_workspace",
  "put_workspace",
  "reseal_workspaces",
  "delete_workspace",
  "page",
  "read_pushes",
  "read_new",
  "read_again",
  // Without the wait, a failover could undo a sign-out.
  "take_sealed",
]);

/** The arguments of a function for one shard. */
export interface ShardCall {
  /** The prefix of the shard's keys. */
  readonly prefix: string;
  readonly args: readonly Argument[];
  /**
   * Long texts, in the order in which the function reads them. These texts are not packed, because Lua would hash each
   * of them again when unpacking.
   */
  readonly bodies?: readonly Argument[];
}

export type Functions = LibraryFunctions<FunctionName>;
/** Functions that call a Lua library, and load the library on a server that lacks it. */
export type LibraryFunctions<Name extends string> = ReturnType<typeof createLibrary<Name>>;

/** Size in bytes of the length prefix of each packed argument. */
export const LENGTH_BYTES = 4;

/** The length prefixes of strings of up to 127 bytes. All four bytes of each prefix are ASCII. */
const SHORT_HEADS = Array.from({ length: 128 }, (_, length) => `${String.fromCharCode(length)}\0\0\0`);

/**
 * Packs arguments into one argument, which the library unpacks. Each argument is preceded by its length. Returns a
 * string when all arguments are short strings, because a string is cheaper to write than a buffer.
 */
export function packArguments(args: readonly Argument[]): Argument {
  let packed = "";
  for (const arg of args) {
    const head = typeof arg === "string" ? SHORT_HEADS[Buffer.byteLength(arg)] : undefined;
    if (head === undefined) return packBytes(args);
    packed += head + String(arg);
  }
  return packed;
}

/** Writes consecutive ASCII strings in one step: a write into a buffer takes longer than joining short strings. */
function packBytes(args: readonly Argument[]): Buffer {
  const sizes = args.map((arg) => Buffer.byteLength(arg));
  const packed = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + LENGTH_BYTES + size, 0));
  let [ascii, at] = ["", 0];
  const flush = (): void => {
    if (ascii !== "") at += packed.write(ascii, at, "latin1");
    ascii = "";
  };
  for (const [i, arg] of args.entries()) {
    const size = sizes[i] ?? 0;
    ascii += headOf(size);
    if (typeof arg === "string" && size === arg.length) {
      ascii += arg;
    } else {
      flush();
      at += typeof arg === "string" ? packed.write(arg, at, "utf8") : arg.copy(packed, at);
    }
  }
  flush();
  return packed;
}

/** Returns the length prefix of an argument, as a string with one character per byte. */
function headOf(size: number): string {
  return (
    SHORT_HEADS[size] ?? String.fromCharCode(size & 255, (size >> 8) & 255, (size >> 16) & 255, size >>> 24)
  );
}

function isNotFound(error: unknown): boolean {
  return error instanceof ErrorReply && /function not found/i.test(error.message);
}

/** Returns the functions of core's library. */
export function createFunctions(redis: Redis, meter?: StoreMeter): Functions {
  return createLibrary<FunctionName>(redis, readLibrary(), CONFIRMED, meter);
}

/**
 * Loads a library on the masters that lack it. Loading the library again would erase its memory, e.g. the rate limits.
 * If a master cannot list its libraries, the library is loaded there too. The code is compared because, after a
 * migration to another format and back, a stub with the same name rejects all calls.
 */
async function loadEverywhere(redis: Redis, { name, code }: Library): Promise<void> {
  const list = ["FUNCTION", "LIST", "LIBRARYNAME", name, "WITHCODE"];
  const replies = await redis.whereAvailable(list);
  const having = replies.filter(({ reply }) => {
    const loaded = asList(asList(reply)[0] ?? []).at(-1);
    return loaded != null && asText(loaded) === code;
  });
  const servers = new Set(having.map(({ server }) => server));
  await redis.everywhere(["FUNCTION", "LOAD", "REPLACE", code], servers);
}

/** @param confirmed the functions whose writes the replicas must confirm */
export function createLibrary<Name extends string>(
  redis: Redis,
  library: Library,
  confirmed: Pick<ReadonlySet<Name>, "has">,
  meter?: StoreMeter,
) {
  let loading: Promise<unknown> | undefined;

  // Many calls may find the library missing at the same time, so all of them share one load.
  async function load(): Promise<void> {
    loading ??= loadEverywhere(redis, library).finally(() => (loading = undefined));
    await loading;
  }

  async function call(name: Name, shards: readonly ShardCall[]): Promise<Reply> {
    const send = confirmed.has(name) ? "confirmed" : "command";
    const prefixes = shards.map(({ prefix }) => prefix);
    const [prefix = ""] = prefixes;
    const command: Argument[] = ["FCALL", `${name}_${library.version}`, String(shards.length), ...prefixes];
    for (const { args } of shards) command.push(packArguments(args));
    for (const { bodies = [] } of shards) command.push(...bodies);
    try {
      return await redis[send](prefix, command);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    // The error of a failed load is not thrown here, because the load may have failed only on another master.
    const fault: unknown = await load().catch((error: unknown) => error);
    try {
      return await redis[send](prefix, command);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // This master could not load the library, or lost it again. The call had no effect, and may succeed later.
      throw new StoreUnavailable("cannot load the function library", { cause: fault ?? error });
    }
  }

  async function metered(name: Name, shards: readonly ShardCall[], items?: number): Promise<Reply> {
    const began = performance.now();
    let isAnswered = false;
    try {
      const reply = await call(name, shards);
      isAnswered = true;
      return reply;
    } catch (error) {
      if (error instanceof StoreFull) meter?.rejected(error.message);
      throw error;
    } finally {
      meter?.called(name, items, performance.now() - began, isAnswered);
    }
  }

  return {
    /** Loads the library on every master that lacks it. */
    load,
    /** Whether one call may contain arguments for several shards. */
    spansShards: redis.isOneMaster,
    /** @param prefix prefix of the shard's keys */
    call: (name: Name, prefix: string, args: readonly Argument[]) => metered(name, [{ prefix, args }]),
    /**
     * Calls a function for several shards in one step. Returns the function's answer for each shard, in order.
     *
     * @param items number of requests in the call, for the meter
     */
    async callEach(name: Name, shards: readonly ShardCall[], items: number): Promise<readonly Reply[]> {
      const reply = await metered(name, shards, items);
      return shards.length === 1 ? [reply] : asList(reply);
    },
  };
}
