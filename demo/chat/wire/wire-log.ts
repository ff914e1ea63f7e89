import type { IncomingHttpHeaders } from "node:http";
import type { Exchange, StreamEvent, WireSide } from "../shapes";

export type WireLog = ReturnType<typeof createWireLog>;

const EXCHANGES_MAX = 100;
const BODY_MAX_CHARACTERS = 4_000;
/** The headers of the contract. Other headers are not shown, because they may contain credentials. */
const CONTRACT_HEADERS = [
  "content-type",
  "service-signature",
  "service-event-id",
  "service-workspace",
  "retry-after",
] as const;

/** The latest exchanges between the bridge and the service, to be shown in the page. `tell` is called with each. */
export function createWireLog(tell: (event: StreamEvent) => void) {
  let exchanges: readonly Exchange[] = [];
  let lastId = 0;
  return {
    /** Newest first. */
    get exchanges() {
      return exchanges;
    },

    /** Adds an exchange without secrets: `wireSide` removes them. */
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

/** Whether a poll found no events. Consecutive ones share an entry, so that they do not displace other exchanges. */
function isEmptyPoll({ what, answer }: Pick<Exchange, "what" | "answer">): boolean {
  return what === "poll" && answer?.status === 200 && answer.body.startsWith('{"events":[]');
}

/** One side of an exchange as it is shown. Signatures are shortened, so that no shown request can be replayed. */
export function wireSide(headers: IncomingHttpHeaders | Headers, body: Uint8Array): WireSide {
  const text = Buffer.from(body).toString("utf8");
  return {
    headers: Object.entries(contractHeaders(headers)).map(([name, value]) => [
      name,
      value.replaceAll(/(v1=[0-9a-fA-F]{8})[0-9a-fA-F]+/g, "$1…"),
    ]),
    body:
      text.length > BODY_MAX_CHARACTERS
        ? `${text.slice(0, BODY_MAX_CHARACTERS)}… (${body.length} bytes in all)`
        : text,
  };
}

/** The headers of the contract that a request or an answer has. */
export function contractHeaders(headers: IncomingHttpHeaders | Headers): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of CONTRACT_HEADERS) {
    const value = headers instanceof Headers ? headers.get(name) : headers[name];
    if (typeof value === "string") found[name] = value;
  }
  return found;
}
