import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "redis";
import { check } from "./part";

/** The Redis under the service, as the benchmark looks into it: to count, to weigh, and for references. */
export interface Store {
  /** Throws unless every write is on disk before it is answered. */
  assertDurable(): Promise<void>;
  /** Waits until streams whose keys match have so many entries; throws when they have not in time, or more. */
  assertEntries(pattern: string, count: number, what: string): Promise<void>;
  /** Throws unless so many events are held. */
  assertHeld(count: number): Promise<void>;
  removeHeld(): Promise<void>;
  /** Empties all streams whose keys match, so that a long run does not fill the memory. */
  emptyStreams(pattern: string): Promise<void>;
  /** Removes what limits count by, which is gone some seconds after its last request. */
  removeLimiters(): Promise<void>;
  /** The process of Redis. */
  processId(): Promise<number>;
  /** Changes of its data since it started, and the bytes of its append-only file. */
  written(): Promise<{ readonly changes: number; readonly fileBytes: number }>;
  /** What its data take, in bytes. */
  usedBytes(): Promise<number>;
  close(): void;
}

/** Every stream of inbound events. */
export const INBOUND_STREAMS = "cb:*:in";
/** Held events: the indexes of blocks, and the blocks. */
const INDEX_KEYS = ["cb:*:full:*", "cb:*:index:*"] as const;
const HELD_KEYS = [...INDEX_KEYS, "cb:*:block:*"] as const;
/**
 * Counts the events in the blocks of a workspace, and throws where a block is not what its index says.
 * ARGV: what the name of a block begins with.
 */
const COUNT_HELD = `
  local function count(index)
    local text, from = nil, 1
    for at = 1, #index, 12 do
      local sequence, last = struct.unpack('<dI4', index, at)
      text = text or redis.call('GET', ARGV[1] .. string.format(':%.0f', sequence))
      if string.sub(text, from, from + 1) ~= '{"' or string.sub(text, last, last) ~= '}' then
        error('a block is not what its index says')
      end
      from = last + 2
    end
    return #index / 12
  end
  local found, from = count(redis.call('GET', KEYS[2]) or ''), '-'
  repeat
    local entries = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', 50)
    for _, entry in ipairs(entries) do
      found = found + count(entry[2][2])
      from = '(' .. entry[1]
    end
  until #entries == 0
  return found`;

/** When the last requests of a workspace and of an address were let through. */
const LIMITER_KEYS = ["cb:*:rate:*", "cb:*:ip:*"] as const;

const SETTLE_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 50;
const KEYS_AT_ONCE = 1_000;

/** @param url redis:// or unix:// */
export async function connectToRedis(url: string) {
  const client = url.startsWith("unix://")
    ? createClient({ socket: { path: new URL(url).pathname, tls: false } })
    : createClient({ url });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

export async function connectToStore(url: string): Promise<Store> {
  const client = await connectToRedis(url);

  async function* keys(pattern: string): AsyncGenerator<readonly string[]> {
    const found = await client.keys(pattern);
    for (let from = 0; from < found.length; from += KEYS_AT_ONCE)
      yield found.slice(from, from + KEYS_AT_ONCE);
  }

  async function countEntries(pattern: string): Promise<number> {
    let count = 0;
    for await (const some of keys(pattern)) {
      for (const length of await Promise.all(some.map((key) => client.xLen(key)))) count += length;
    }
    return count;
  }

  async function info(section: string, field: string): Promise<number> {
    const text = await client.info(section);
    return Number(new RegExp(`^${field}:(\\d+)`, "m").exec(text)?.[1]);
  }

  async function countHeld(): Promise<number> {
    const workspaces = new Set<string>();
    for (const pattern of INDEX_KEYS) {
      for await (const some of keys(pattern)) {
        for (const key of some) workspaces.add(key.replace(/:(full|index):/, ":*:"));
      }
    }
    let count = 0;
    for (const each of workspaces) {
      const of = (kind: string): string => each.replace(":*:", `:${kind}:`);
      const asked = { keys: [of("full"), of("index")], arguments: [of("block")] };
      count += Number(await client.eval(COUNT_HELD, asked));
    }
    return count;
  }

  async function remove(pattern: string): Promise<void> {
    for await (const some of keys(pattern)) await client.unlink([...some]);
  }

  return {
    async assertDurable() {
      const [appendfsync, appendonly] = await Promise.all(
        ["appendfsync", "appendonly"].map(async (name) => (await client.configGet(name))[name]),
      );
      check(appendfsync === "always" && appendonly === "yes", "Redis does not write durably");
    },
    async assertEntries(pattern, count, what) {
      const end = performance.now() + SETTLE_WITHIN_MS;
      let found = await countEntries(pattern);
      while (found < count && performance.now() < end) {
        await sleep(LOOK_EVERY_MS);
        found = await countEntries(pattern);
      }
      check(found === count, `${count} ${what}, but ${found} are stored`);
    },
    async emptyStreams(pattern) {
      for await (const some of keys(pattern))
        await Promise.all(some.map((key) => client.xTrim(key, "MAXLEN", 0)));
    },
    async assertHeld(count) {
      const found = await countHeld();
      check(found === count, `${count} events were published, but ${found} are stored`);
    },
    async removeHeld() {
      for (const pattern of HELD_KEYS) await remove(pattern);
    },
    async removeLimiters() {
      for (const pattern of LIMITER_KEYS) await remove(pattern);
    },
    async written() {
      const [changes = NaN, fileBytes = NaN] = await Promise.all(
        ["rdb_changes_since_last_save", "aof_current_size"].map((field) => info("persistence", field)),
      );
      return { changes, fileBytes };
    },
    processId: () => info("server", "process_id"),
    async usedBytes() {
      // Buffers come and go, and are no data.
      const fields = ["used_memory", "mem_clients_normal", "mem_aof_buffer"];
      const [used = NaN, clients = NaN, file = NaN] = await Promise.all(
        fields.map((field) => info("memory", field)),
      );
      return used - clients - file;
    },
    close() {
      client.destroy();
    },
  };
}
