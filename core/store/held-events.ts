import type { Limits } from "../domain/contract";
import type { HeldEvents, PageAnswer, PageRequest } from "../ports/held-events";
import { createBatch } from "./batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Argument, Redis, Reply } from "./redis";
import { asBytes, asList, asNumber, asText } from "./reply";
import { retryAfterSeconds } from "./request-limits";

const BATCH_MAX = 128;
const COMMA = Buffer.from(",");
const NO_EVENTS = Buffer.alloc(0);

/** What the store says of a poll: an answer already, or where its page begins. */
type Begun = PageAnswer | { readonly outcome: "read"; readonly after: string; readonly gap: boolean };

function toArguments({ record, page }: PageRequest): readonly Argument[] {
  const head = [record.workspace.id, String(record.version)];
  if (page === "count") return [...head, "count", ""];
  const { start } = page;
  return [...head, "page", start.from === "after" ? start.cursor : start.from];
}

function toBegun(reply: Reply): Begun {
  const [head, ...rest] = asList(reply);
  const outcome = asText(head);
  switch (outcome) {
    case "read":
      return { outcome, after: asText(rest[0]), gap: asNumber(rest[1]) === 1 };
    case "empty":
      return {
        outcome: "page",
        events: NO_EVENTS,
        last: undefined,
        hasMore: false,
        gap: asNumber(rest[0]) === 1,
      };
    case "latest":
      return { outcome: "page", events: NO_EVENTS, last: asText(rest[0]), hasMore: false, gap: false };
    case "counted":
    case "stale":
      return { outcome };
    case "wait":
      return { outcome: "limited", retryAfterSeconds: retryAfterSeconds(asNumber(rest[0])) };
    default:
      throw new TypeError(`page answered ${outcome}`);
  }
}

export function createHeldEvents(redis: Redis, functions: Functions, keys: Keys, limits: Limits): HeldEvents {
  const begin = createBatch<PageRequest, Begun>({
    most: BATCH_MAX,
    async run(shard, requests) {
      const answers = await functions.call("page", keys.prefix(shard), [
        String(limits.workspace),
        ...requests.flatMap(toArguments),
      ]);
      return asList(answers).map(toBegun);
    },
  });
  const noteServed = createBatch<readonly [workspaceId: string, sequence: string], Reply>({
    most: BATCH_MAX,
    run: async (shard, served) =>
      asList(await functions.call("note_served", keys.prefix(shard), served.flat())),
  });

  /** Up to `limit` events after a sequence, and whether there are more. */
  async function readPage(
    workspaceId: string,
    after: string,
    limit: number,
    gap: boolean,
  ): Promise<PageAnswer> {
    const shard = keys.shard(workspaceId);
    const stream = `${keys.prefix(shard)}:held:${workspaceId}`;
    const reply = await redis.command(stream, [
      "XRANGE",
      stream,
      `(${after}`,
      "+",
      "COUNT",
      String(limit + 1),
    ]);
    const entries = asList(reply);
    const page = entries.slice(0, limit).map(asList);
    const [id] = page.at(-1) ?? [];
    const last = id === undefined ? undefined : asText(id).slice(0, -"-0".length);
    if (last !== undefined) await noteServed(shard, [workspaceId, last]);
    const events = page.flatMap(([, fields], i) => {
      const envelope = asBytes(asList(fields)[1]);
      return i === 0 ? [envelope] : [COMMA, envelope];
    });
    return { outcome: "page", events: Buffer.concat(events), last, hasMore: entries.length > limit, gap };
  }

  return {
    async page(request) {
      const { workspace } = request.record;
      const begun = await begin(keys.shard(workspace.id), request);
      if (begun.outcome !== "read") return begun;
      if (request.page === "count") throw new Error("a page was begun that should only have been counted");
      return readPage(workspace.id, begun.after, request.page.limit, begun.gap);
    },
  };
}
