import { randomUUID } from "node:crypto";
import { CONTRACT_LIMITS } from "../../core/domain/contract";
import { createSigningSecret, type Workspace } from "../../core/domain/workspace";
import type { Publication } from "../../core/ports/outbound-events";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { createFunctions, type Functions } from "../../core/store/functions";
import { createKeys, type Keys } from "../../core/store/keys";
import { connectRedis, type Argument, type Redis } from "../../core/store/redis";
import { asList, asNumber, asText } from "../../core/store/reply";
import { createSecretBox } from "../../core/store/secret-box";
import { openStore, type Store, type StoreOptions } from "../../core/store/store";
import { SECRETS_KEY } from "./processes";

const SHARDS = 16;

/**
 * A core's store, and a connection beside it: to see what is kept, and to write
 * what the past would have left there.
 */
export interface TestStore extends Store {
  readonly redis: Redis;
  readonly functions: Functions;
  readonly keys: Keys;
}

/** @param options over those of a core's store as it is by default */
export async function openTestStore(
  redisUrl: string,
  options: Partial<StoreOptions> = {},
): Promise<TestStore> {
  const onError = (): void => undefined;
  const secretBox = createSecretBox([Buffer.from(SECRETS_KEY, "hex")]);
  const store = await openStore({
    redisUrl,
    shards: SHARDS,
    inboundLogMax: 1_000_000,
    limits: CONTRACT_LIMITS,
    secretBox,
    onError,
    ...options,
  });
  const redis = await connectRedis({ url: redisUrl, onError });
  return {
    ...store,
    redis,
    functions: createFunctions(redis),
    keys: createKeys(SHARDS),
    async close() {
      await redis.close();
      await store.close();
    },
  };
}

/** A connected workspace of the custom platform as core would make it. */
export function newWorkspace(fields: Partial<Workspace> = {}): Workspace {
  const createdAtMs = fields.createdAtMs ?? Date.now();
  return {
    id: randomUUID(),
    name: "test",
    ownerEmail: "",
    platform: "custom",
    connected: true,
    targetUrl: "",
    secrets: [createSigningSecret("a secret", createdAtMs)],
    createdAtMs,
    ...fields,
  };
}

/** Creates a workspace and answers its record. */
export async function addWorkspace(
  { workspaces }: Store,
  fields: Partial<Workspace> = {},
): Promise<WorkspaceRecord> {
  const workspace = newWorkspace(fields);
  await workspaces.create(workspace);
  const record = await workspaces.read(workspace.id);
  if (record === undefined) throw new Error("the workspace is not there");
  return record;
}

/** A publication whose envelope says just `label` and its sequence. */
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

/** The name of a key of a workspace, such as "full" or "rate". */
export function keyOf({ keys }: TestStore, workspaceId: string, kind: string): string {
  return `${keys.prefix(keys.shard(workspaceId))}:${kind}:${workspaceId}`;
}

/** Redis's clock in µs since the epoch. */
export async function redisNowUs({ redis }: TestStore): Promise<number> {
  const [seconds, microseconds] = asList(await redis.command("", ["TIME"]));
  return asNumber(seconds) * 1_000_000 + asNumber(microseconds);
}

/** A command's reply as a list of texts. */
export async function texts({ redis }: TestStore, ...command: Argument[]): Promise<readonly string[]> {
  return asList(await redis.command("", command)).map(asText);
}

/** Runs a Lua script on one connection, as what time does to a key would be written by hand. */
export async function evaluate(
  { redis }: TestStore,
  script: string,
  keys: readonly string[],
  ...args: readonly (string | number)[]
): Promise<void> {
  await redis.command("", ["EVAL", script, String(keys.length), ...keys, ...args.map(String)]);
}
