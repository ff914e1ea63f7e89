import { randomBytes } from "node:crypto";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import type { Argument } from "../../core/store/redis";
import { asList, asText } from "../../core/store/reply";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { addWorkspace, openTestStore, redisNowUs, texts, type TestStore } from "../harness/store";
import { until } from "../harness/wait";

let redis: TestRedis;
let store: TestStore;
beforeAll(async () => {
  redis = await startTestRedis(["--appendfsync", "no"]);
  store = await openTestStore(redis.url);
});
afterAll(async () => {
  await store.close();
  await redis.close();
});

const prefixOf = ({ workspace }: WorkspaceRecord): string =>
  store.keys.prefix(store.keys.shard(workspace.id));

/** What Redis uses for what it keeps: without the buffers of connections and of its file. */
async function memoryOfData(): Promise<number> {
  const info = asText(await store.redis.command("", ["INFO", "memory"]));
  const field = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1]);
  return field("used_memory") - field("mem_clients_normal") - field("mem_aof_buffer");
}

const IDS = 100_000;
const HALF_DAY_US = 43_200_000_000;
const halfDay = async (): Promise<number> => Math.floor((await redisNowUs(store)) / HALF_DAY_US);

/** Bytes for each of many ids, of workspaces in so many shards. */
async function weigh(shards: number): Promise<number> {
  const batch = 1_000;
  const records: WorkspaceRecord[] = [];
  for (let shard = 0; shard < shards; shard++) {
    let record = await addWorkspace(store);
    while (store.keys.shard(record.workspace.id) !== shard) record = await addWorkspace(store);
    records.push(record);
  }
  for (const key of await texts(store, "KEYS", "*:id:*")) await store.redis.command(key, ["DEL", key]);
  const before = await memoryOfData();
  for (let sent = 0; sent < IDS; sent += batch) {
    const record = records[(sent / batch) % shards];
    if (record === undefined) throw new Error("there is no workspace");
    const requests = Array.from({ length: batch }, (): readonly Argument[] => {
      const { workspace, version } = record;
      return [workspace.id, String(version), "id", randomBytes(12), "0", ""];
    });
    // A limit of 0 lifts the limit; a log of one entry leaves the ids to be weighed.
    const answers = await store.functions.call("append", prefixOf(record), [
      "0",
      "1",
      "86400",
      ...requests.flat(),
    ]);
    // Behind the answers the function says what left the log.
    expect(new Set(asList(answers).slice(0, batch).map(asText))).toEqual(new Set(["stored"]));
  }
  for (const record of records) await store.redis.command("", ["DEL", `${prefixOf(record)}:in`]);
  return ((await memoryOfData()) - before) / IDS;
}

test.each([
  ["one workspace", 1],
  ["workspaces of all shards", 16],
])(
  "a remembered request id of %s costs under 60 bytes",
  async (_of, shards) => {
    // Ids are kept by half days: at noon and at midnight they are spread over twice as many hashes, half full.
    const bytesEach = await until(
      "all ids are of one half day",
      async () => {
        const began = await halfDay();
        const bytes = await weigh(shards);
        return (await halfDay()) === began && bytes;
      },
      100_000,
    );
    process.stdout.write(`a remembered request id of ${_of}: ${bytesEach.toFixed(1)} bytes\n`);
    expect(bytesEach).toBeGreaterThan(10);
    expect(bytesEach).toBeLessThan(60);
  },
  120_000,
);
