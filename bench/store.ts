import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "redis";
import { check } from "./part";

/** The Redis under the service, as the benchmark looks into it: to count, to weigh, and for references. */
export interface Store {
  /** Throws unless every write is on disk before it is answered. */
  assertDurable(): Promise<void>;
  /** Entries of all streams whose keys match. */
  countEntries(pattern: string): Promise<number>;
  /** Waits until so many entries are there; throws when they are not in time, or more. */
  assertEntries(pattern: string, count: number, what: string): Promise<void>;
  /** Empties all streams whose keys match, so that a long run does not fill the memory. */
  emptyStreams(pattern: string): Promise<void>;
  remove(pattern: string): Promise<void>;
  /** What its data take, in bytes. */
  usedBytes(): Promise<number>;
  /** Appends entries to streams, in one pipeline. */
  append(entries: readonly { readonly key: string; readonly value: string }[]): Promise<void>;
  close(): void;
}

/** Every stream of inbound events, and every stream of held ones. */
export const INBOUND_STREAMS = "cb:*:in";
export const HELD_STREAMS = "cb:*:held:*";

const SETTLE_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 50;
const KEYS_AT_ONCE = 1_000;

export async function connectToStore(url: string): Promise<Store> {
  const client = url.startsWith("unix://")
    ? createClient({ socket: { path: new URL(url).pathname, tls: false } })
    : createClient({ url });
  client.on("error", () => undefined);
  await client.connect();

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

  async function info(field: string): Promise<number> {
    const text = await client.info("memory");
    return Number(new RegExp(`^${field}:(\\d+)`, "m").exec(text)?.[1]);
  }

  return {
    countEntries,
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
    async remove(pattern) {
      for await (const some of keys(pattern)) await client.unlink([...some]);
    },
    async usedBytes() {
      // Buffers come and go, and are no data.
      const fields = ["used_memory", "mem_clients_normal", "mem_aof_buffer"];
      const [used = NaN, clients = NaN, file = NaN] = await Promise.all(fields.map(info));
      return used - clients - file;
    },
    async append(entries) {
      await Promise.all(entries.map(({ key, value }) => client.sendCommand(["XADD", key, "*", "e", value])));
    },
    close() {
      client.destroy();
    },
  };
}
