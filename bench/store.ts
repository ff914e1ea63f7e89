import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "redis";
import { check } from "./part";

/** The service's Redis, in which the benchmark counts entries and measures memory. */
export interface Store {
  /** Throws CheckFault unless Redis syncs every write before it answers. */
  assertDurable(): Promise<void>;
  /** Waits until the matching streams have `count` entries. Throws CheckFault if they have more, or fewer after 10 s. */
  assertEntries(pattern: string, count: number, what: string): Promise<void>;
  /** The same for held events. */
  assertHeld(count: number): Promise<void>;
  /** Removes held events, and keeps their streams. */
  emptyHeld(): Promise<void>;
  /** Empties all matching streams, so that a long run does not fill the memory. */
  emptyStreams(pattern: string): Promise<void>;
  /** Removes the keys of rate limits, which would expire some seconds after their last request. */
  removeLimiters(): Promise<void>;
  /** Process id of Redis. */
  processId(): Promise<number>;
  /** Number of changes since Redis last saved an RDB file, and bytes of its append-only file. */
  written(): Promise<{ readonly changes: number; readonly fileBytes: number }>;
  /** Bytes that the data use. */
  usedBytes(): Promise<number>;
  close(): void;
}

/** Every stream of inbound events. */
export const INBOUND_STREAMS = "cb:*:in";
/** Every stream of held events, one for each workspace that polls. */
const HELD_STREAMS = "cb:*:held:*";
/** Keys of the rate limits, with the times of the latest requests of a workspace or an address. */
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

  async function assertEntries(pattern: string, count: number, what: string): Promise<void> {
    const end = performance.now() + SETTLE_WITHIN_MS;
    let found = await countEntries(pattern);
    while (found < count && performance.now() < end) {
      await sleep(LOOK_EVERY_MS);
      found = await countEntries(pattern);
    }
    check(found === count, `${count} ${what}, but ${found} are stored`);
  }

  async function info(section: string, field: string): Promise<number> {
    const text = await client.info(section);
    return Number(new RegExp(`^${field}:(\\d+)`, "m").exec(text)?.[1]);
  }

  async function remove(pattern: string): Promise<void> {
    for await (const some of keys(pattern)) await client.unlink([...some]);
  }

  async function emptyStreams(pattern: string): Promise<void> {
    for await (const some of keys(pattern))
      await Promise.all(some.map((key) => client.xTrim(key, "MAXLEN", 0)));
  }

  return {
    async assertDurable() {
      const [appendfsync, appendonly] = await Promise.all(
        ["appendfsync", "appendonly"].map(async (name) => (await client.configGet(name))[name]),
      );
      check(
        appendfsync === "always" && appendonly === "yes",
        "Redis does not write durably: appendonly must be yes, and appendfsync always",
      );
    },
    assertEntries,
    emptyStreams,
    assertHeld: (count) => assertEntries(HELD_STREAMS, count, "events were published"),
    // The streams must remain, because core treats a missing one as lost.
    emptyHeld: () => emptyStreams(HELD_STREAMS),
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
      // Buffers vary and are not data, so they are subtracted.
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
