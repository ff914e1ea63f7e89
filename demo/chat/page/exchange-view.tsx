import { useEffect, useRef, useState } from "preact/hooks";
import type { Exchange, WireSide } from "../shapes";
import { asCurl } from "./as-curl";
import type { ChatClient } from "./chat-client";
import { CopyButton } from "./copy-button";
import { EventLinks } from "./event-links";
import { gist } from "./gist";
import { Icon } from "./marks";
import { SignatureView } from "./signature-view";
import type { WantedEvent } from "./wanted-event";

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const WORDS: Readonly<Record<Exchange["what"], string>> = {
  report: "Report",
  poll: "Poll",
  push: "Push",
};

export interface ExchangeViewProps {
  readonly exchange: Exchange;
  readonly client: ChatClient;
  /** URL of the workspace's page in the dashboard; null if DASHBOARD_URL is not set. */
  readonly dashboard: string | null;
  /**
   * The event in this exchange that a link from the dashboard names; undefined if there was no such link. The link
   * opens the exchange.
   */
  readonly wanted: WantedEvent | undefined;
}

/** One request and its answer, whose details are hidden until the member opens the entry. */
export function ExchangeView({ exchange, client, dashboard, wanted }: ExchangeViewProps) {
  const { what, at, answer, times } = exchange;
  const [isOpen, setOpen] = useState(false);
  const summary = useRef<HTMLElement>(null);
  useEffect(() => {
    if (wanted === undefined) return;
    setOpen(true);
    summary.current?.scrollIntoView({ block: "center" });
    summary.current?.focus();
  }, [wanted]);
  const isGood = answer !== null && answer.status < 300;
  return (
    <li class="exchange">
      <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary ref={summary}>
          <span class={`way ${what}`}>
            <Icon name={what === "push" ? "in" : "out"} />
            {WORDS[what]}
          </span>
          <span class="gist">{gist(exchange)}</span>
          {times > 1 && <span class="times">×{times}</span>}
          <time dateTime={at}>{TIME.format(new Date(at))}</time>
          <span class={isGood ? "status good" : "status bad"}>{answer?.status ?? "no answer"}</span>
        </summary>
        {isOpen && dashboard !== null && (
          <EventLinks ids={exchange.eventIds} client={client} dashboard={dashboard} />
        )}
        {isOpen && <Sides exchange={exchange} />}
      </details>
    </li>
  );
}

/** The request and the answer, with the parts of their signatures, and shell commands that repeat the request. */
function Sides({ exchange }: { readonly exchange: Exchange }) {
  const { what, at, method, path, request, answer, failure, ms } = exchange;
  const [, query = ""] = /\?(.*)$/s.exec(path) ?? [];
  const curl = asCurl(exchange);
  const address = what === "push" ? "TARGET_URL" : "BASE_URL";
  return (
    <div class="sides">
      <p class="hint">
        {what === "push" ? "The service sent this request to the bridge" : "The bridge sent this request"} at{" "}
        {TIME.format(new Date(at))}; {ms} ms.
      </p>
      <h4>Request</h4>
      <pre tabIndex={0} aria-label="Request">
        {`${method} ${path}\n${written(request)}`}
      </pre>
      <SignatureView
        side={request}
        signed={method === "GET" ? query : request.body}
        what={method === "GET" ? "query string" : "body"}
      />
      {curl === undefined ? (
        <p class="hint">The body is too long to be shown whole, so the request cannot be copied.</p>
      ) : (
        <>
          <CopyButton text={curl} label="Copy as curl" />
          <p class="hint">
            Set <code>SIGNING_SECRET</code> and <code>{address}</code> first.
            {what === "report" && " The service accepts a repeated id, and ignores the event."}
          </p>
        </>
      )}
      <h4>Answer</h4>
      <pre tabIndex={0} aria-label="Answer">
        {answer === null ? `No answer: ${failure ?? ""}` : `${answer.status}\n${written(answer)}`}
      </pre>
      {answer !== null && <SignatureView side={answer} signed={answer.body} what="body" />}
    </div>
  );
}

function written({ headers, body }: WireSide): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}`).join("\n");
  return body === "" ? lines : `${lines}\n\n${indented(body)}`;
}

/** Indents JSON; returns other text, and truncated JSON, unchanged. */
function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
