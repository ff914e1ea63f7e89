import { randomUUID } from "node:crypto";
import { CONTRACT_LIMITS } from "../../core/domain/bounds";
import type { Workspace } from "../../core/domain/workspace";
import type { Append } from "../../core/ports/inbound-log";
import type {
  HeldEvents,
  PageAnswer,
  PageRequest,
  Publication,
  Published,
} from "../../core/ports/outbound-events";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { createFunctions } from "../../core/store/functions";
import { createKeys } from "../../core/store/keys";
import { connectRedis, type Argument } from "../../core/store/redis/redis";
import { asList, asNumber, asText } from "../../core/store/redis/reply";
import { createSecretBox } from "../../core/store/secret-box";
import { openStore, type Store, type StoreOptions } from "../../core/store/store";
import { newWorkspace } from "./new-workspace";
import { SECRETS_KEY } from "./processes";
import { startTestRedis, type TestRedis } from "./redis";

const SHARDS = 16;

/**
 * A core's store, and a separate Redis connection. Over this connection, tests read stored data, and write data in the
 * form in which core stores it.
 */
export type TestStore = Awaited<ReturnType<typeof openTestStore>>;

/** @param options options of the store that override core's defaults */
export async function openTestStore(redisUrl: string, options: Partial<StoreOptions> = {}) {
  const onError = (): void => undefined;
  const secretBox = createSecretBox([Buffer.from(SECRETS_KEY, "hex")]);
  const store = await openStore({
    redisUrl,
    shards: SHARDS,
    inboundLogMax: 1_000_000,
    inboundLogMaxBytes: 268_435_456,
    limitedGames: () => [],
    heldMaxBytes: 0,
    pushQueueMax: 50_000,
    pushQueueMaxBytes: 64 * 1024 * 1024,
    limits: CONTRACT_LIMITS,
    secretBox,
    onError,
    ...options,
  });
  const redis = await connectRedis({ url: redisUrl, onError });
  return {
    ...store,
    redisUrl,
    redis,
    functions: createFunctions(redis),
    keys: createKeys(SHARDS),
    async close() {
      await redis.close();
      await store.close();
    },
  };
}

/**
 * Opens a core's store for the tests of a file. The store uses the same Redis server as the store `beside`, or a
 * separate server if `beside` is undefined.
 */
export function testStore(beside?: { readonly redisUrl: string }): TestStore {
  const store = {} as TestStore;
  let redis: TestRedis | undefined;
  beforeAll(async () => {
    // These tests do not depend on the disk, so writes need not wait for the disk.
    if (beside === undefined) redis = await startTestRedis(["--appendfsync", "no"]);
    Object.assign(store, await openTestStore(beside?.redisUrl ?? redis?.url ?? ""));
  });
  afterAll(async () => {
    await store.close();
    await redis?.close();
  });
  return store;
}

/**
 * Makes the store's functions in Redis read a stopped clock. Returns a function that sets the clock, in µs since the
 * epoch.
 */
export async function stopClock(store: TestStore): Promise<(us: number) => Promise<void>> {
  const script = "redis.call('DEL', KEYS[1]) redis.call('RPUSH', KEYS[1], ARGV[1], ARGV[2])";
  const setClock = (us: number): Promise<void> =>
    evaluate(store, script, ["clock"], Math.floor(us / 1e6), us % 1e6);
  await setClock(await redisNowUs(store));
  const [library = null] = asList(await store.redis.command("", ["FUNCTION", "LIST", "WITHCODE"]));
  const code = asText(asList(library).at(-1) ?? null);
  const stopped = code.replace("redis.call('TIME')", "redis.call('LRANGE', 'clock', 0, 1)");
  if (stopped === code) throw new Error("the functions do not read the clock with redis.call('TIME')");
  await store.redis.command("", ["FUNCTION", "LOAD", "REPLACE", stopped]);
  return setClock;
}

/** Before the tests of a file, stops the clock at a whole millisecond. */
export function testClock(store: TestStore) {
  let setClock: (us: number) => Promise<void>;
  const clock = {
    us: 0,
    set: (us: number) => setClock((clock.us = us)),
    pass: (us: number) => clock.set(clock.us + us),
  };
  beforeAll(async () => {
    setClock = await stopClock(store);
    await clock.set(Math.floor((await redisNowUs(store)) / 1_000) * 1_000);
  });
  return clock;
}

export async function addWorkspace({ workspaces }: Store, fields: Partial<Workspace> = {}) {
  const workspace = newWorkspace(fields);
  await workspaces.create(workspace);
  const record = await workspaces.read(workspace.id);
  if (record === undefined) throw new Error("the workspace was not created");
  return record;
}

/** Adds a workspace in the same shard as another workspace. */
export async function addNeighbour(
  store: TestStore,
  { workspace }: WorkspaceRecord,
  fields: Partial<Workspace> = {},
): Promise<WorkspaceRecord> {
  const shard = store.keys.shard(workspace.id);
  let id = randomUUID();
  while (store.keys.shard(id) !== shard) id = randomUUID();
  return addWorkspace(store, { id, ...fields });
}

export function prefixOf({ keys }: TestStore, workspaceId: string): string {
  return keys.prefix(keys.shard(workspaceId));
}

export function inbound(record: WorkspaceRecord, id: string, text = "hello"): Append {
  return { record, event: { identity: { by: "id", id }, bytes: Buffer.from(text) } };
}

/** Returns a publication. The event's envelope has only the fields `label` and `sequence`. */
export function publication(
  workspaceId: string,
  label: string | number,
  fields: Partial<Publication> = {},
): Publication {
  return {
    workspaceId,
    idempotencyKey: "",
    eventId: `evt_${label}`,
    messageId: `msg_${label}`,
    expiresAtMs: null,
    type: "message.create",
    push: "once",
    envelope: { beforeSequence: `{"label":${JSON.stringify(label)},"sequence":`, afterSequence: "}" },
    ...fields,
  };
}

/** Returns the sequence of a published event. Throws when the event was not published. */
export function sequenceOf(published: Published): number {
  if (!("sequence" in published)) throw new Error(published.outcome);
  return published.sequence;
}

/** Returns the name of a Redis key of a workspace. `kind` is e.g. "held" or "rate". */
export function keyOf(store: TestStore, workspaceId: string, kind: string): string {
  return `${prefixOf(store, workspaceId)}:${kind}:${workspaceId}`;
}

export async function redisNowUs({ redis }: TestStore): Promise<number> {
  const [seconds, microseconds] = asList(await redis.command("", ["TIME"]));
  return asNumber(seconds) * 1_000_000 + asNumber(microseconds);
}

export async function texts({ redis }: TestStore, ...command: Argument[]): Promise<readonly string[]> {
  return asList(await redis.command("", command)).map(asText);
}

/** Runs a Lua script in Redis, e.g. to change several keys in one step. */
export async function evaluate(
  { redis }: TestStore,
  script: string,
  keys: readonly string[],
  ...args: readonly (string | number)[]
): Promise<void> {
  await redis.command("", ["EVAL", script, String(keys.length), ...keys, ...args.map(String)]);
}

/** Reads a page, and releases the page as core does after sending it. */
export async function readPage(
  { heldEvents }: { readonly heldEvents: HeldEvents },
  request: PageRequest,
): Promise<PageAnswer> {
  const answer = await heldEvents.page(request);
  if (answer.outcome === "page") answer.release?.();
  return answer;
}
