import { hash } from "node:crypto";
import { INBOUND_LOG_SECONDS, type Limits } from "../domain/bounds";
import type { StoreMeter } from "../ports/meters";
import type { Append, Appended, InboundDropped, InboundLog, RequestIdentity } from "../ports/inbound-log";
import { batchFunction } from "./function-batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Argument, Reply } from "./redis/redis";
import { asList, asNumber, asOneOf, asText } from "./redis/reply";
import { addressKey, retryAfterSeconds } from "./limits";

const BATCH_MAX = 128;
/** Bytes of a digest: two bytes select the Redis hash, and ten bytes are stored in that hash. */
const DIGEST_BYTES = 12;
const NO_BYTES = Buffer.alloc(0);

/**
 * Returns the digest that identifies a request. The digest covers the workspace's id, so equal requests to two
 * workspaces have different digests.
 */
function digest(workspaceId: string, identity: RequestIdentity): Buffer {
  const named =
    identity.by === "id"
      ? `${workspaceId}/id/${identity.id}`
      : Buffer.concat([Buffer.from(`${workspaceId}/same/${identity.timestamp}/`), identity.body]);
  // Computing the digest as a string takes half as long as computing it as a new buffer.
  return Buffer.from(hash("sha256", named, "binary").slice(0, DIGEST_BYTES), "latin1");
}

function toArguments({ record, address, event }: Append, keys: Keys): readonly Argument[] {
  const { workspace, version } = record;
  const head = [workspace.id, String(version), address === undefined ? "" : addressKey(keys, address)];
  if (event === "fault") return [...head, "fault", NO_BYTES, "0", NO_BYTES, ""];
  const { identity, bytes, traceparent = "" } = event;
  return [
    ...head,
    identity.by === "id" ? "id" : "same",
    digest(workspace.id, identity),
    identity.by === "id" ? "0" : String(identity.timestamp),
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    traceparent,
  ];
}

const OUTCOMES = ["stored", "repeated", "fault", "full", "stale"] as const;

function toAppended(reply: Reply): Appended {
  if (typeof reply === "number") return { outcome: "limited", retryAfterSeconds: retryAfterSeconds(reply) };
  if (Array.isArray(reply)) {
    return { outcome: "address-limited", retryAfterSeconds: retryAfterSeconds(asNumber(reply[0])) };
  }
  return { outcome: asOneOf(reply, OUTCOMES) };
}

function toDropped(reason: InboundDropped["reason"], [count, group]: readonly Reply[]): InboundDropped {
  return { count: asNumber(count), reason, group: asText(group) || undefined };
}

const LOG_IS_FULL =
  "the log of inbound events is full of events that no game has acked; check that the games follow and ack";

export interface InboundLogOptions {
  readonly limits: Limits;
  readonly meter?: StoreMeter;
  /** Maximum number of entries in the log of a shard (see functions/room.lua). */
  readonly inboundLogMax: number;
  /** Maximum size in bytes of the log of a shard. */
  readonly inboundLogMaxBytes: number;
  /** Returns the names of the game tokens that are limited to some workspaces. */
  limitedGames(): readonly string[];
  /** Called when entries were removed before all groups had acked them. */
  onDropped?(dropped: InboundDropped): void;
}

export function createInboundLog(
  functions: Functions,
  keys: Keys,
  { limits, inboundLogMax, inboundLogMaxBytes, limitedGames, onDropped, meter }: InboundLogOptions,
): InboundLog {
  const { address, workspace } = limits;
  const bounds = [address, workspace, inboundLogMax, inboundLogMaxBytes].map(String);
  const { one: append } = batchFunction<Append, Appended>(functions, keys, {
    name: "append",
    most: BATCH_MAX,
    toArguments: (appends) => [
      ...bounds,
      limitedGames().join(","),
      ...appends.flatMap((each) => toArguments(each, keys)),
    ],
    toOutputs(reply, appends) {
      const answers = asList(reply);
      for (const lost of answers.slice(appends.length)) {
        onDropped?.(toDropped("size", asList(lost).slice(1)));
      }
      const appended = answers.slice(0, appends.length).map(toAppended);
      if (appended.some(({ outcome }) => outcome === "full")) meter?.rejected(LOG_IS_FULL);
      return appended;
    },
  });
  // A core usually tidies all its shards in one turn of the event loop, so these calls share a batch.
  const { one: tidy } = batchFunction<undefined, boolean>(functions, keys, {
    name: "tidy_inbound",
    most: keys.shards,
    toArguments: () => [String(INBOUND_LOG_SECONDS)],
    toOutputs(reply, callers) {
      const lost = asList(reply);
      if (lost.length > 0) onDropped?.(toDropped("age", lost));
      return callers.map(() => true);
    },
  });
  return {
    async tidy(shard) {
      await tidy(shard, undefined);
    },
    append: (item) => append(keys.shard(item.record.workspace.id), item),
    async firstAtMs(workspaceId) {
      const first = await functions.call("first_post", keys.prefixOf(workspaceId), [workspaceId]);
      return asNumber(first) || undefined;
    },
  };
}
