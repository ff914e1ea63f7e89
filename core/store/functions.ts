import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ErrorReply } from "redis";
import type { Argument, Redis, Reply } from "./redis";

/** The files of the function library, in the order in which they are joined. */
const FILES = ["library", "leases", "admit", "append", "health", "hold", "push", "workspace", "follow"];

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
  | "leave_group";

/** Calls functions of the library, which is loaded when a server turns out to lack it. */
export interface Functions {
  /** @param prefix of the shard that is called for */
  call(name: FunctionName, prefix: string, args: readonly Argument[]): Promise<Reply>;
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

/** The arguments as one, each behind its length: the library takes them apart. */
function packArguments(args: readonly Argument[]): Buffer {
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

export function createFunctions(redis: Redis): Functions {
  const { version, code } = readLibrary();
  const names = new Map<FunctionName, string>();
  const fullName = (name: FunctionName): string => {
    const known = names.get(name) ?? `${name}_${version}`;
    names.set(name, known);
    return known;
  };
  let loading: Promise<void> | undefined;

  // Many calls find the library gone at once; it is loaded once.
  function load(): Promise<void> {
    loading ??= redis.everywhere(["FUNCTION", "LOAD", "REPLACE", code]).finally(() => {
      loading = undefined;
    });
    return loading;
  }

  return {
    load,
    async call(name, prefix, args) {
      const command = ["FCALL", fullName(name), "1", prefix, packArguments(args)];
      try {
        return await redis.command(prefix, command);
      } catch (error) {
        if (!(error instanceof ErrorReply && /function not found/i.test(error.message))) throw error;
        await load();
        return redis.command(prefix, command);
      }
    },
  };
}
