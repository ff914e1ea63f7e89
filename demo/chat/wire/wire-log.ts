import type { IncomingHttpHeaders } from "node:http";
import type { Exchange, WireSide } from "../shapes";

/** What went over the wire last, for people to look at. It is made safe to show on the way in. */
export interface WireLog {
  /** Newest first. */
  readonly exchanges: readonly Exchange[];
  add(exchange: Omit<Exchange, "id" | "times">): void;
  watch(look: (exchange: Exchange) => void): () => void;
}

const EXCHANGES_MAX = 100;
const BODY_MAX_CHARACTERS = 4_000;
/** Credentials are in none of them; what is not listed is not shown. */
const SHOWN_HEADERS = [
  "content-type",
  "service-signature",
  "service-event-id",
  "service-workspace",
  "retry-after",
] as const;

export function createWireLog(): WireLog {
  const watching = new Set<(exchange: Exchange) => void>();
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
      for (const look of watching) look(exchange);
    },
    watch(look) {
      watching.add(look);
      return () => watching.delete(look);
    },
  };
}

/** A poll that brought nothing: a row of them is one entry, else they would push everything else out. */
function isEmptyPoll({ what, answer }: Pick<Exchange, "what" | "answer">): boolean {
  return what === "poll" && answer?.status === 200 && answer.body.startsWith('{"events":[]');
}

/** One side of an exchange as it is shown. Signatures are cut short, so that nothing shown can be sent again. */
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
