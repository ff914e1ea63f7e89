import type { DeliveryShape, StoredEventShape } from "../../proto/json/shapes";
import { CopyButton } from "../parts/copy-button";
import { Link } from "../router";
import { countOf } from "../words/delivery-list";
import { eventPath, readWords } from "../words/event-words";
import { whyNoEvents } from "../words/send-again-words";
import { readPayload } from "../words/payload";
import { EventName } from "./event-name";

export interface StoredEventsProps {
  readonly delivery: DeliveryShape;
  readonly events: readonly StoredEventShape[];
  readonly workspaceId: string;
}

/** Shows the events of an entry as JSON, or why the service does not have them. */
export function StoredEvents({ delivery, events, workspaceId }: StoredEventsProps) {
  const [first] = events;
  const isComplete = delivery.polls === 0 || events.length >= delivery.events;
  return (
    <section class="log-part">
      <h3>{delivery.events > 1 ? "Events" : "Event"}</h3>
      {first === undefined && <p class="hint">{whyNoEvents(delivery)}</p>}
      {first !== undefined && !isComplete && (
        <p class="hint">
          {events.length} of {countOf(delivery.events, "event")} can be shown.
        </p>
      )}
      {events.length === 1 && first !== undefined && (
        <>
          {delivery.polls > 0 && (
            <p>
              <EventName summary={readWords(first.json)} eventType={readPayload(first.json).type} />{" "}
              <Link href={eventPath(workspaceId, first.id)}>Open the event's page</Link>
            </p>
          )}
          <Payload event={first} />
        </>
      )}
      {events.length > 1 &&
        events.map((event) => (
          <details key={event.id} class="stored-event">
            <summary>
              <EventName summary={readWords(event.json)} eventType={readPayload(event.json).type} />{" "}
              <code>{event.id}</code>
            </summary>
            <p>
              {readPayload(event.json).type},{" "}
              <Link href={eventPath(workspaceId, event.id)}>open the event's page</Link>
            </p>
            <Payload event={event} />
          </details>
        ))}
    </section>
  );
}

/** Shows an event as JSON. */
export function Payload({ event: { id, json } }: { readonly event: StoredEventShape }) {
  return (
    <div class="payload-box">
      {/* The text can scroll, so it must be focusable for keyboard users. */}
      <pre class="payload" tabIndex={0} role="region" aria-label={`Event ${id}`}>
        {readPayload(json).pretty}
      </pre>
      <CopyButton text={json} what="the event" />
    </div>
  );
}
