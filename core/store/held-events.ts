import type { Limits } from "../domain/contract";
import type { HeldEvents, PageAnswer, PageRequest } from "../ports/held-events";
import { createBatch } from "./batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Argument, Redis, Reply } from "./redis";
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

type Page = Extract<PageAnswer, { outcome: "page" }>;
/** A page whose pieces may have to be read yet: its events are in them, or where they are. */
type FoundPage = Omit<Page, "events"> & { readonly pieces: readonly Reply[] };

function toAnswer(reply: Reply): Exclude<PageAnswer, Page> | FoundPage {
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
        pieces: rest.slice(3),
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

export function createHeldEvents(redis: Redis, functions: Functions, keys: Keys, limits: Limits): HeldEvents {
  const find = createBatch<PageRequest, ReturnType<typeof toAnswer>>({
    most: BATCH_MAX,
    async run(shard, requests) {
      const args = [String(limits.workspace), ...requests.flatMap(toArguments)];
      const answers = await functions.call("page", keys.prefix(shard), args, requests.length);
      return asList(answers).map(toAnswer);
    },
  });

  /** A piece of a page: as it was answered, or read from where it is; undefined when it is not there any more. */
  async function readPiece(piece: Reply): Promise<Buffer | undefined> {
    if (Buffer.isBuffer(piece)) return piece;
    const [key, from, to] = asList(piece).map((part) =>
      Buffer.isBuffer(part) ? asText(part) : String(part),
    );
    const bytes = asBytes(await redis.command(key ?? "", ["GETRANGE", key ?? "", from ?? "", to ?? ""]));
    // What a name stands for never changes, but it may go: with its workspace, or by a clock that stepped.
    return bytes.length === Number(to) - Number(from) + 1 ? bytes : undefined;
  }

  return {
    async page(request) {
      const found = await find(keys.shard(request.record.workspace.id), request);
      if (found.outcome !== "page") return found;
      const { pieces, ...page } = found;
      const read = await Promise.all(pieces.map(readPiece));
      const events = read.filter((piece) => piece !== undefined);
      const isAfter = request.page !== "count" && request.page.start.from === "after";
      return { ...page, events, gap: page.gap || (isAfter && events.length < read.length) };
    },
  };
}
