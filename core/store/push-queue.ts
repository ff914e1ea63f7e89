import {
  RECORDED,
  type PushQueue,
  type PushRecord,
  type QueuedPush,
  type Recorded,
} from "../ports/push-queue";
import { encodeDelivery, encodeResponse } from "./delivery-log";
import { batchFunction } from "./function-batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import { unpackEvent } from "./packed-event";
import type { Argument, Reply } from "./redis/redis";
import { asBytes, asList, asNumber, asOneOf, asText, asVersions } from "./redis/reply";
import type { Wakes } from "./wakes";

const BATCH_MAX = 128;
/** Keeping a failed event takes Redis about this many times as long as removing an event. */
const KEPT_WEIGHT = 4;

function toQueued(entry: Reply, packed: Reply, tries: Reply, publisher: Reply): QueuedPush {
  const bytes = asBytes(packed);
  const event = unpackEvent(bytes);
  const [attempts, firstFailedAtMs] = asText(tries).split(" ").map(Number);
  const { workspaceId, eventId, messageId, eventType, expiresAtMs, isRetried, traceparent } = event;
  // The fields are listed because V8 takes 6 µs to spread `event` into an object.
  return {
    entryId: asText(entry),
    workspaceId,
    eventId,
    messageId,
    eventType,
    publisher: asText(publisher),
    expiresAtMs,
    isRetried,
    envelope: copyOf(event.envelope),
    traceparent,
    bytes: bytes.length,
    attempts: attempts ?? 0,
    firstFailedAtMs: firstFailedAtMs ?? 0,
  };
}

/** Copies bytes of a reply. A view would keep the whole reply in memory. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

function toArguments({ push, response, next }: PushRecord): readonly Argument[] {
  const does = next.do === "retry" ? `retry ${next.attempts} ${Math.round(next.firstFailedAtMs)}` : next.do;
  return [push.workspaceId, push.entryId, String(push.bytes), encodeResponse(response), does];
}

/** A record, and the token that proves that this core holds the lease. */
interface TokenRecord {
  readonly token: string;
  readonly record: PushRecord;
}

/** Returns the records of a call, and the token that the call uses: the token of the first item. */
function callOf(items: readonly TokenRecord[]) {
  const token = items[0]?.token ?? "";
  return { token, records: items.filter((item) => item.token === token) };
}

/** @param failedShardMaxBytes maximum bytes of the failed events of a shard */
export function createPushQueue(
  functions: Functions,
  keys: Keys,
  wakes: Wakes,
  failedShardMaxBytes: number,
): PushQueue {
  const failedMost = String(failedShardMaxBytes);
  // A call uses the token of its first item. The outcome of items with a different token is "lost", because only one
  // token can hold the lease.
  const { one: record } = batchFunction<TokenRecord, Recorded>(functions, keys, {
    name: "record_pushes",
    most: BATCH_MAX,
    weigh: ({ record: { next } }) => (next.do === "keep" ? KEPT_WEIGHT : 1),
    toArguments(items) {
      const { token, records } = callOf(items);
      return [token, failedMost, ...records.flatMap(({ record }) => toArguments(record))];
    },
    toBodies: (items) =>
      callOf(items).records.map(({ record: { delivery } }) =>
        delivery === undefined ? "" : encodeDelivery(delivery),
      ),
    toOutputs(reply, items) {
      const { token } = callOf(items);
      const answers = Array.isArray(reply) ? asList(reply).values() : undefined;
      const all = answers === undefined ? asOneOf(reply, RECORDED) : undefined;
      return items.map((item) => {
        if (item.token !== token) return "lost";
        return all ?? asOneOf(answers?.next().value, RECORDED);
      });
    },
  });
  return {
    async read(token, shard, after, most) {
      const args = [token, after ?? "-", String(most.events), String(most.bytes)];
      const reply = await functions.call("read_pushes", keys.prefix(shard), args);
      if (reply === null) return undefined;
      const [isEnd, versions, ...items] = asList(reply);
      const pushes = Array.from({ length: items.length / 4 }, (_, i) =>
        toQueued(items[4 * i], items[4 * i + 1], items[4 * i + 2], items[4 * i + 3]),
      );
      return { pushes, versions: asVersions(versions), isEnd: asNumber(isEnd) === 1 };
    },
    record: (token, shard, item) => record(shard, { token, record: item }),
    onWake: (wake) => wakes.on("push", wake),
  };
}
