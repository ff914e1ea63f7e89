import { useState } from "preact/hooks";
import { CopyButton } from "../parts/copy-button";
import { eventSnippet, pushHeaders, type EventPush } from "../words/event-snippets";
import { LANGUAGES, type Language } from "../words/languages";

/** The URL that the snippets contain if the workspace has no target URL. */
const ANY_URL = "http://localhost:8080/events";

export interface RequestCardProps {
  readonly push: EventPush;
  /** Whether the workspace pushes its events. If not, the card shows what a push of this event would look like. */
  readonly isPushed: boolean;
}

/** Shows the headers of an event's push, and programs that push the event again to a bridge under development. */
export function RequestCard({ push, isPushed }: RequestCardProps) {
  const [shown, setShown] = useState<Language>("curl");
  const given = { ...push, targetUrl: push.targetUrl === "" ? ANY_URL : push.targetUrl };
  const snippet = eventSnippet(shown, given);
  return (
    <section class="card" aria-labelledby="request-title">
      <h2 id="request-title">{isPushed ? "The push" : "As a push"}</h2>
      <dl class="headers">
        {pushHeaders(given).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <code>{value}</code>
            </dd>
          </div>
        ))}
      </dl>
      <p class="hint">
        The digest signs <code>t</code>, a dot and the body. While two secrets are valid, there is a{" "}
        <code>v1</code> for each.
      </p>
      <h3>Send it yourself</h3>
      <p class="hint">
        Each program sends these bytes with a new signature. Put the signing secret into the environment
        variable <code>SIGNING_SECRET</code>.
        {push.targetUrl === "" && " Replace the URL with the address of your bridge."}
      </p>
      <div class="row tabs" role="group" aria-label="Language">
        {LANGUAGES.map(({ name, label }) => (
          <button
            type="button"
            key={name}
            class="tab"
            aria-pressed={name === shown}
            onClick={() => setShown(name)}
          >
            {label}
          </button>
        ))}
      </div>
      <div class="snippet">
        <pre tabIndex={0} role="region" aria-label="The program">
          <code>{snippet}</code>
        </pre>
        <CopyButton text={snippet} what="the program" />
      </div>
    </section>
  );
}
