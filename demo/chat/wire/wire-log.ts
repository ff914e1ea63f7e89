import type { IncomingHttpHeaders } from "node:http";
import { EVENT_ID_FORM } from "../../../contract/forms";
import { PAGE_MAX_EVENTS } from "../../../contract/numbers";
import type { Exchange, StreamEvent, WireSide } from "../shapes";

export type WireLog = ReturnType<typeof createWireLog>;

const EXCHANGES_MAX = 100;
const BODY_MAX_CHARACTERS = 4_000;
/** The headers that the bridge contract defines. All other headers are hidden, because they may contain credentials. */
const CONTRACT_HEADERS = [
  "content-type",
  "service-signature",
  "service-event-id",
  "service-workspace",
  "retry-after",
] as const;

/**
 * Creates a log of the latest exchanges between the bridge and the service. `tell` is called with each new or changed
 * exchange.
 */
export function createWireLog(tell: (event: StreamEvent) => void) {
  let exchanges: readonly Exchange[] = [];
  let lastId = 0;
  return {
    /** Newest first. */
    get exchanges() {
      return exchanges;
    },

    /**
     * Adds an exchange. The request and the answer must come from `wireSide`, which omits credentials and shortens
     * signatures.
     */
    add(fresh: Omit<Exchange, "id" | "times">): void {
      const [before, ...older] = exchanges;
      const again = before !== undefined && isEmptyPoll(before) && isEmptyPoll(fresh);
      const exchange: Exchange = again
        ? { ...fresh, id: before.id, times: before.times + 1 }
        : { ...fresh, id: ++lastId, times: 1 };
      exchanges = [exchange, ...(again ? older : exchanges)].slice(0, EXCHANGES_MAX);
      tell({ type: "exchange", exchange });
    },
  };
}

/**
 * Returns whether an exchange is an empty poll. Consecutive empty polls share an entry,
 * so that they do not displace other exchanges.
 */
function isEmptyPoll({ what, answer }: Pick<Exchange, "what" | "answer">): boolean {
  return what === "poll" && answer?.status === 200 && answer.body.startsWith('{"events":[]');
}

/**
 * Returns one side of an exchange as the page shows it. Signatures are shortened, so
 * that nobody can replay the request.
 */
export function wireSide(headers: IncomingHttpHeaders | Headers, body: Uint8Array): WireSide {
  const text = Buffer.from(body).toString("utf8");
  const isShortened = text.length > BODY_MAX_CHARACTERS;
  return {
    headers: Object.entries(contractHeaders(headers)).map(([name, value]) => [
      name,
      value.replaceAll(/(v1=[0-9a-fA-F]{8})[0-9a-fA-F]+/g, "$1…"),
    ]),
    body: isShortened ? `${text.slice(0, BODY_MAX_CHARACTERS)}… (${body.length} bytes in all)` : text,
    isShortened,
  };
}

/** Returns the ids of the events in a push, or in a page of events. Returns no ids for other bodies. */
export function eventIdsIn(body: Uint8Array): readonly string[] {
  let content: { readonly id?: unknown; readonly events?: unknown } | null;
  try {
    content = JSON.parse(Buffer.from(body).toString("utf8")) as typeof content;
  } catch {
    return [];
  }
  const events: readonly unknown[] = Array.isArray(content?.events) ? content.events : [content];
  return events
    .slice(0, PAGE_MAX_EVENTS)
    .map((event) => (event as { readonly id?: unknown } | null)?.id)
    .filter((id): id is string => typeof id === "string" && EVENT_ID_FORM.test(id));
}

/** Returns the contract's headers of a request or an answer. */
export function contractHeaders(headers: IncomingHttpHeaders | Headers): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of CONTRACT_HEADERS) {
    const value = headers instanceof Headers ? headers.get(name) : headers[name];
    if (typeof value === "string") found[name] = value;
  }
  return found;
}
