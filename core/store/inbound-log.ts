import { hash } from "node:crypto";
import { HOLD_SECONDS, type Limits } from "../domain/contract";
import type { Append, Appended, InboundLog, RequestIdentity } from "../ports/inbound-log";
import { createBatch } from "./batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Argument, Reply } from "./redis";
import { asList, asText } from "./reply";
import { retryAfterSeconds } from "./request-limits";

const BATCH_MAX = 128;
/** Two bytes choose the bucket, ten are remembered. */
const DIGEST_BYTES = 12;
const NO_BYTES = Buffer.alloc(0);

/** The digest under which a request is remembered; it is the workspace's own, so that none can touch another's. */
function digest(workspaceId: string, identity: RequestIdentity): Buffer {
  const named =
    identity.by === "id"
      ? `${workspaceId}/id/${identity.id}`
      : Buffer.concat([Buffer.from(`${workspaceId}/same/${identity.timestamp}/`), identity.body]);
  return hash("sha256", named, "buffer").subarray(0, DIGEST_BYTES);
}

function toArguments({ record, event }: Append): readonly Argument[] {
  const { workspace, version } = record;
  if (event === "fault") return [workspace.id, String(version), "fault", NO_BYTES, "0", NO_BYTES];
  const { identity, bytes } = event;
  return [
    workspace.id,
    String(version),
    identity.by === "id" ? "id" : "same",
    digest(workspace.id, identity),
    identity.by === "id" ? "0" : String(identity.timestamp),
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  ];
}

function toAppended(reply: Reply): Appended {
  if (typeof reply === "number") return { outcome: "limited", retryAfterSeconds: retryAfterSeconds(reply) };
  const outcome = asText(reply);
  switch (outcome) {
    case "stored":
    case "repeated":
    case "fault":
    case "stale":
      return { outcome };
    default:
      throw new TypeError(`append answered ${outcome}`);
  }
}

/** @param logMax entries of a shard's log, past which the oldest go */
export function createInboundLog(
  functions: Functions,
  keys: Keys,
  limits: Limits,
  logMax: number,
): InboundLog {
  const append = createBatch<Append, Appended>({
    most: BATCH_MAX,
    async run(shard, appends) {
      const answers = await functions.call("append", keys.prefix(shard), [
        String(limits.workspace),
        String(logMax),
        String(HOLD_SECONDS),
        ...appends.flatMap(toArguments),
      ]);
      return asList(answers).map(toAppended);
    },
  });
  return { append: (item) => append(keys.shard(item.record.workspace.id), item) };
}
