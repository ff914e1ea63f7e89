import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@redis/client";
import { check } from "./part";

/** The service's Redis, in which the benchmark counts entries and measures memory. */
export type Store = Awaited<ReturnType<typeof connectToStore>>;

/** The keys of all streams of inbound events. */
const INBOUND_STREAMS = "cb:*:in";
/** The keys of all streams of held events, one for each poll workspace. */
const HELD_STREAMS = "cb:*:held:*";

const SETTLE_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 50;
const KEYS_AT_ONCE = 1_000;

/** @param url redis:// or unix:// */
export async function connectToRedis(url: string) {
  const client = createClient({ url });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

export async function connectToStore(url: string) {
  const client = await connectToRedis(url);

  /** Calls `work` with up to `KEYS_AT_ONCE` matching keys at a time, and returns all results. */
  async function withKeys<T>(pattern: string, work: (keys: string[]) => Promise<T>): Promise<readonly T[]> {
    const keys = await client.keys(pattern);
    const results: T[] = [];
    while (keys.length > 0) results.push(await work(keys.splice(0, KEYS_AT_ONCE)));
    return results;
  }

  async function countEntries(pattern: string): Promise<number> {
    const lengths = await withKeys(pattern, (keys) => Promise.all(keys.map((key) => client.xLen(key))));
    return lengths.flat().reduce((sum, length) => sum + length, 0);
  }

  /**
   * Waits up to 10 s until the matching streams have `count` entries in total. Throws CheckFault if the total differs.
   */
  async function assertEntries(pattern: string, count: number, what: string): Promise<void> {
    const end = performance.now() + SETTLE_WITHIN_MS;
    let found = await countEntries(pattern);
    while (found < count && performance.now() < end) {
      await sleep(LOOK_EVERY_MS);
      found = await countEntries(pattern);
    }
    check(found === count, `${count} ${what}, but ${found} are stored`);
  }

  /** Empties all matching streams, so that a long run does not fill Redis's memory. */
  async function emptyStreams(pattern: string): Promise<void> {
    await withKeys(pattern, (keys) => Promise.all(keys.map((key) => client.xTrim(key, "MAXLEN", 0))));
  }

  const info = async (section: string, field: string) => numberIn(await client.info(section), field);

  return {
    assertEntries,
    emptyStreams,
    /** Throws CheckFault unless Redis syncs every write to disk before it answers. */
    async assertDurable() {
      const { appendfsync, appendonly } = await client.configGet(["appendfsync", "appendonly"]);
      check(
        appendfsync === "always" && appendonly === "yes",
        "Redis does not write durably: appendonly must be yes, and appendfsync always",
      );
    },
    /** Returns the number of stored inbound events. */
    inboundEntries: () => countEntries(INBOUND_STREAMS),
    /** Removes all inbound events. */
    emptyInbound: () => emptyStreams(INBOUND_STREAMS),
    /**
     * Compares the number of stored inbound events with `count`, the number of accepted events, and removes the events.
     */
    async settleInbound(count: number, what = "events were answered with 202") {
      await assertEntries(INBOUND_STREAMS, count, what);
      await emptyStreams(INBOUND_STREAMS);
    },
    assertHeld: (count: number) => assertEntries(HELD_STREAMS, count, "events were published"),
    /** Removes all held events, but not their streams, because core treats a missing stream as lost data. */
    emptyHeld: () => emptyStreams(HELD_STREAMS),
    /** Returns the number of changes since Redis last saved an RDB file, and the bytes of its append-only file. */
    async written() {
      const changes = await info("persistence", "rdb_changes_since_last_save");
      return { changes, fileBytes: await info("persistence", "aof_current_size") };
    },
    /** Returns the milliseconds of processor time that Redis has spent in core's functions. */
    functionMs: async () => functionMsOf(await client.info("commandstats")),
    processId: () => info("server", "process_id"),
    /** Returns the bytes of the data in Redis. The result excludes buffers, because buffers vary and are not data. */
    async usedBytes() {
      const fields = ["used_memory", "mem_clients_normal", "mem_aof_buffer"];
      const [used = NaN, clients = NaN, file = NaN] = await Promise.all(
        fields.map((field) => info("memory", field)),
      );
      return used - clients - file;
    },
    close: () => client.destroy(),
  };
}

/** @param stats the section `commandstats` of INFO */
function functionMsOf(stats: string): number {
  return Number(/^cmdstat_fcall:calls=\d+,usec=(\d+)/m.exec(stats)?.[1] ?? 0) / 1_000;
}

/** Returns a field of INFO; NaN if the section lacks the field. */
function numberIn(section: string, field: string): number {
  return Number(new RegExp(`^${field}:(\\d+)`, "m").exec(section)?.[1]);
}
