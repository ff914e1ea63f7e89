import type { Limits } from "../domain/bounds";
import type { HeldEvents, PageAnswer, PageRequest } from "../ports/outbound-events";
import { batchFunction } from "./function-batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import { createLargePages, LARGE_PAGE_BOUNDS } from "./large-pages";
import type { Argument, Redis, Reply } from "./redis/redis";
import { asBytes, asList, asNumber, asOneOf, asText } from "./redis/reply";
import { addressKey, retryAfterSeconds } from "./limits";

/**
 * Maximum number of polls in one call of the library's function `page`. The answer of `page` contains up to 16 KB per
 * poll.
 */
const BATCH_MAX = 64;
function toArguments({ record, address, page }: PageRequest, keys: Keys): readonly Argument[] {
  const key = address === undefined ? "" : addressKey(keys, address);
  const head = [record.workspace.id, String(record.version), key];
  if (page === "count") return [...head, "count", "", "0"];
  const { start, limit } = page;
  return [...head, "page", start.from === "after" ? start.cursor : start.from, String(limit)];
}

type Page = Extract<PageAnswer, { outcome: "page" }>;
/**
 * The events of a large page: the first `count` events after the sequence `after`, up to the sequence `through`.
 * Together, these events take at most `mostBytes` bytes.
 */
interface Range {
  readonly after: string;
  readonly through: string;
  readonly count: number;
  readonly mostBytes: number;
}
/** The answer of the function `page`. The events of a large page must still be read. */
type FoundPage = Omit<Page, "events"> & { readonly events: Page["events"] | Range };

const OUTCOMES = ["page", "counted", "stale", "address", "wait"] as const;

function toAnswer(reply: Reply): Exclude<PageAnswer, Page> | FoundPage {
  const [head, ...rest] = asList(reply);
  const outcome = asOneOf(head, OUTCOMES);
  switch (outcome) {
    case "page": {
      const [last, hasMore, gap, ...events] = rest;
      return {
        outcome,
        last: asText(last) || undefined,
        hasMore: asNumber(hasMore) === 1,
        gap: asNumber(gap) === 1,
        events: Array.isArray(events[0]) ? toRange(events[0]) : events.map(asBytes),
      };
    }
    case "counted":
    case "stale":
      return { outcome };
    case "address":
      return { outcome: "address-limited", retryAfterSeconds: retryAfterSeconds(asNumber(rest[0])) };
    case "wait":
      return { outcome: "limited", retryAfterSeconds: retryAfterSeconds(asNumber(rest[0])) };
  }
}

function toRange([after, through, number, largest]: readonly Reply[]): Range {
  const count = asNumber(number);
  return { after: asText(after), through: asText(through), count, mostBytes: count * asNumber(largest) };
}

export function createHeldEvents(
  redis: Redis,
  functions: Functions,
  keys: Keys,
  limits: Limits,
  largePageBounds = LARGE_PAGE_BOUNDS,
): HeldEvents {
  const largePages = createLargePages(largePageBounds);
  const head = [limits.address, limits.workspace].map(String);
  const { one: find } = batchFunction<PageRequest, ReturnType<typeof toAnswer>>(functions, keys, {
    name: "page",
    most: BATCH_MAX,
    toArguments: (requests) => [...head, ...requests.flatMap((each) => toArguments(each, keys))],
    toOutputs: (reply) => asList(reply).map(toAnswer),
  });

  /**
   * Reads a large page with XRANGE. Only events that the function `page` found are read. Newer events are left for the
   * next page, because replicas may not have confirmed these events yet.
   */
  async function readRange(workspaceId: string, { after, through, count }: Range) {
    const key = `${keys.prefixOf(workspaceId)}:held:${workspaceId}`;
    const { values, lastId } = await redis.entries(key, [
      "XRANGE",
      key,
      `(${after}`,
      through,
      "COUNT",
      String(count),
    ]);
    return { events: values, last: lastId?.slice(0, lastId.indexOf("-")) };
  }

  return {
    async page(request) {
      const { workspace } = request.record;
      const found = await find(keys.shard(workspace.id), request);
      if (found.outcome !== "page") return found;
      if (!("after" in found.events)) {
        const { outcome, last, hasMore, gap, events } = found;
        return { outcome, last, hasMore, gap, events };
      }
      const endTurn = await largePages.begin(workspace.id, found.events.mostBytes);
      try {
        const page = await readRange(workspace.id, found.events);
        // If events are missing here, they have expired since the function found them, or their workspace was deleted.
        const lacks = page.events.length < found.events.count;
        const isAfter = request.page !== "count" && request.page.start.from === "after";
        const bytes = page.events.reduce((sum, event) => sum + event.length, 0);
        return { ...found, ...page, gap: found.gap || (isAfter && lacks), release: () => endTurn(bytes) };
      } catch (error) {
        endTurn(0);
        throw error;
      }
    },
  };
}
