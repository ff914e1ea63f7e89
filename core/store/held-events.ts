import type { Limits } from "../domain/contract";
import type { HeldEvents, PageAnswer, PageRequest } from "../ports/held-events";
import { createBatch } from "./batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Argument, Reply } from "./redis";
import { asBytes, asList, asNumber, asText } from "./reply";
import { retryAfterSeconds } from "./request-limits";

/** Small: a page may be large, and a batch of pages is one reply. */
const BATCH_MAX = 16;

function toArguments({ record, page }: PageRequest): readonly Argument[] {
  const head = [record.workspace.id, String(record.version)];
  if (page === "count") return [...head, "count", "", "0"];
  const { start, limit } = page;
  return [...head, "page", start.from === "after" ? start.cursor : start.from, String(limit)];
}

function toAnswer(reply: Reply): PageAnswer {
  const [head, ...rest] = asList(reply);
  const outcome = asText(head);
  switch (outcome) {
    case "page": {
      const last = asText(rest[0]);
      return {
        outcome,
        last: last === "" ? undefined : last,
        hasMore: asNumber(rest[1]) === 1,
        gap: asNumber(rest[2]) === 1,
        events: asBytes(rest[3]),
      };
    }
    case "counted":
    case "stale":
      return { outcome };
    case "wait":
      return { outcome: "limited", retryAfterSeconds: retryAfterSeconds(asNumber(rest[0])) };
    default:
      throw new TypeError(`page answered ${outcome}`);
  }
}

export function createHeldEvents(functions: Functions, keys: Keys, limits: Limits): HeldEvents {
  const page = createBatch<PageRequest, PageAnswer>({
    most: BATCH_MAX,
    async run(shard, requests) {
      const answers = await functions.call("page", keys.prefix(shard), [
        String(limits.workspace),
        ...requests.flatMap(toArguments),
      ]);
      return asList(answers).map(toAnswer);
    },
  });
  return { page: (request) => page(keys.shard(request.record.workspace.id), request) };
}
