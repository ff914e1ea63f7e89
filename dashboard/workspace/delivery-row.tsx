import { useId, useState } from "preact/hooks";
import { RESULT_MEANINGS } from "../../contract/deliveries";
import type { DeliveryShape } from "../../edge/dashboard/shapes";
import { ToneBadge } from "../parts/badge";
import { CopyButton } from "../parts/copy-button";
import { Instant } from "../parts/instant";
import { adviceFor } from "../words/advice";
import { broughtWords } from "../words/delivery-list";

const TONES = { success: "good", failed: "bad", dropped: "warn" } as const;
const COLUMNS = 5;

/** Shows a row of the log. The details of a failed delivery say what to do. */
export function DeliveryRow({ delivery }: { readonly delivery: DeliveryShape }) {
  const { at, eventId, eventType, attempt, result, status, latencyMs, address } = delivery;
  const [open, setOpen] = useState(false);
  const moreId = useId();
  const isPoll = eventType === "poll";
  const latency = isPoll || attempt === 0 ? "–" : `${latencyMs} ms`;
  return (
    <>
      <tr>
        <td>
          <Instant at={at} as="time" />
        </td>
        <td>
          <span class="event-type">{eventType}</span>
        </td>
        <td>
          <ToneBadge tone={TONES[RESULT_MEANINGS[result].outcome]}>
            {isPoll
              ? pollsWords(delivery)
              : `${RESULT_MEANINGS[result].words}${status === 0 ? "" : ` ${status}`}`}
          </ToneBadge>
          {isPoll ? (
            <Brought polls={delivery} />
          ) : (
            <button
              type="button"
              class="more"
              aria-expanded={open}
              aria-controls={moreId}
              aria-label={`Details of ${eventType} at ${at}`}
              onClick={() => setOpen(!open)}
            >
              Details
            </button>
          )}
        </td>
        <td class="number wide-only">{attempt === 0 ? "–" : attempt}</td>
        <td class="number wide-only">{latency}</td>
      </tr>
      {open && (
        <tr class="log-details" id={moreId}>
          <td colSpan={COLUMNS}>
            {adviceFor(delivery) !== undefined && <p class="advice">{adviceFor(delivery)}</p>}
            <dl>
              <div>
                <dt>Event</dt>
                <dd>
                  <code>{eventId}</code>
                  <CopyButton short text={eventId} what="the event id" />
                </dd>
              </div>
              <div>
                <dt>Address</dt>
                <dd>{address === "" ? "none" : <code>{address}</code>}</dd>
              </div>
              <div>
                <dt>Attempt</dt>
                <dd>{attempt === 0 ? "none" : attempt}</dd>
              </div>
              <div>
                <dt>Latency</dt>
                <dd>{latency}</dd>
              </div>
              <div>
                <dt>Error class</dt>
                <dd>{result === "success" ? "none" : <code>{result}</code>}</dd>
              </div>
            </dl>
          </td>
        </tr>
      )}
    </>
  );
}

function pollsWords({ polls }: DeliveryShape): string {
  return polls > 1 ? `${polls.toLocaleString()} polls` : "Polled";
}

function Brought({ polls }: { readonly polls: DeliveryShape }) {
  return (
    <span class="hint">
      {" "}
      {polls.polls > 1 && polls.lastAt !== null && (
        <>
          the last at <Instant at={polls.lastAt} as="time" />,{" "}
        </>
      )}
      {broughtWords(polls)}
    </span>
  );
}
