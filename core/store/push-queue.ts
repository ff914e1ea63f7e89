import type { PushQueue, PushRecord, QueuedPush, Recorded } from "../ports/push-queue";
import { createBatch } from "./batch";
import { encodeDelivery } from "./delivery-log";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Argument, Reply } from "./redis";
import { asBytes, asList, asNumber, asText } from "./reply";
import type { Wakes } from "./wakes";

const READ_MAX = 200;
const BATCH_MAX = 128;

function toQueued(reply: Reply): QueuedPush {
  const [entry, workspace, event, , message, expires, type, retried, envelope, attempts, failed] =
    asList(reply);
  return {
    entryId: asText(entry),
    workspaceId: asText(workspace),
    eventId: asText(event),
    messageId: asText(message),
    eventType: asText(type),
    expiresAtMs: asText(expires) === "" ? null : asNumber(expires),
    isRetried: asNumber(retried) === 1,
    envelope: asBytes(envelope),
    attempts: asNumber(attempts),
    firstFailedAtMs: asNumber(failed),
  };
}

function toArguments({ push, delivery, next }: PushRecord): readonly Argument[] {
  const [attempts, failed] = next.do === "retry" ? [next.attempts, next.firstFailedAtMs] : [0, 0];
  return [
    push.workspaceId,
    push.entryId,
    delivery === undefined ? "" : encodeDelivery(delivery),
    next.do,
    String(attempts),
    String(Math.round(failed)),
  ];
}

function toRecorded(reply: Reply): Recorded {
  const answer = asText(reply);
  if (answer === "recorded" || answer === "pushed" || answer === "lost") return answer;
  throw new TypeError(`record_pushes answered ${answer}`);
}

export function createPushQueue(functions: Functions, keys: Keys, wakes: Wakes): PushQueue {
  // All records of a turn are of one core, but a core may hold a lease anew under another token.
  const record = createBatch<{ readonly token: string; readonly record: PushRecord }, Recorded>({
    most: BATCH_MAX,
    async run(shard, items) {
      const [first] = items;
      const token = first?.token ?? "";
      const same = items.filter((item) => item.token === token);
      const answers = asList(
        await functions.call("record_pushes", keys.prefix(shard), [
          token,
          ...same.flatMap((item) => toArguments(item.record)),
        ]),
      );
      let next = 0;
      return items.map((item) => (item.token === token ? toRecorded(answers[next++]) : "lost"));
    },
  });
  return {
    async read(token, shard, after) {
      const args = [token, after ?? "-", String(READ_MAX)];
      const reply = await functions.call("read_pushes", keys.prefix(shard), args);
      return reply === null ? undefined : asList(reply).map(toQueued);
    },
    record: (token, shard, item) => record(shard, { token, record: item }),
    onWake: (wake) => wakes.on("push", wake),
  };
}
