import type { IncomingHttpHeaders } from "node:http";
import type { Exchange, StreamEvent, WireSide } from "../shapes";

/** The latest exchanges between the bridge and the service, to be shown in the page; `wireSide` removes secrets. */
export interface WireLog {
  /** Newest first. */
  readonly exchanges: readonly Exchange[];
  add(exchange: Omit<Exchange, "id" | "times">): void;
}

const EXCHANGES_MAX = 100;
const BODY_MAX_CHARACTERS = 4_000;
/** The only headers that are shown; no others, because they could hold credentials. */
const SHOWN_HEADERS = [
  "content-type",
  "service-signature",
  "service-event-id",
  "service-workspace",
  "retry-after",
] as const;

/** `tell` is called with each exchange. */
export function createWireLog(tell: (event: StreamEvent) => void): WireLog {
  let exchanges: readonly Exchange[] = [];
  let lastId = 0;
  return {
    get exchanges() {
      return exchanges;
    },
    add(fresh) {
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
  const valueOf = (name: string): string | undefined =>
    headers instanceof Headers ? (headers.get(name) ?? undefined) : headers[name]?.toString();
  const text = Buffer.from(body).toString("utf8");
  return {
    headers: SHOWN_HEADERS.flatMap((name) => {
      const value = valueOf(name);
      return value === undefined ? [] : [[name, shortened(value)] as const];
    }),
    body:
      text.length > BODY_MAX_CHARACTERS
        ? `${text.slice(0, BODY_MAX_CHARACTERS)}… (${body.length} bytes in all)`
        : text,
  };
}

function shortened(value: string): string {
  return value.replaceAll(/(v1=[0-9a-fA-F]{8})[0-9a-fA-F]+/g, "$1…");
}
