import { useState } from "preact/hooks";
import type { Exchange, WireSide } from "../shapes";
import { Icon } from "./marks";

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const WORDS: Readonly<Record<Exchange["what"], string>> = {
  report: "Report",
  poll: "Poll",
  push: "Push",
};

/** One request with its answer. Both are hidden until the member opens the entry. */
export function ExchangeView({ exchange }: { readonly exchange: Exchange }) {
  const { what, at, method, path, request, answer, failure, ms, times } = exchange;
  const [isOpen, setOpen] = useState(false);
  const isGood = answer !== null && answer.status < 300;
  return (
    <li class="exchange">
      <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span class={`way ${what}`}>
            <Icon name={what === "push" ? "in" : "out"} />
            {WORDS[what]}
          </span>
          <span class="gist">{gist(exchange)}</span>
          {times > 1 && <span class="times">×{times}</span>}
          <span class={isGood ? "status good" : "status bad"}>{answer?.status ?? "none"}</span>
        </summary>
        {isOpen && (
          <div class="sides">
            <p class="hint">
              {TIME.format(new Date(at))} · {ms} ms
            </p>
            <pre tabIndex={0} aria-label="Request">
              {`${method} ${path}\n${written(request)}`}
            </pre>
            <pre tabIndex={0} aria-label="Answer">
              {answer === null ? `None: ${failure ?? ""}` : `${answer.status}\n${written(answer)}`}
            </pre>
          </div>
        )}
      </details>
    </li>
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

/** Returns a short summary: the number of polled events, or the type of the reported or pushed event. */
function gist({ what, request, answer, failure }: Exchange): string {
  if (what === "poll") {
    if (answer === null) return failure ?? "";
    const events = answer.body.match(/"id":"evt_/g)?.length ?? 0;
    return events === 0 ? "no events" : events === 1 ? "1 event" : `${events} events`;
  }
  return /"type":"([a-z.]+)"/.exec(request.body)?.[1] ?? "";
}
