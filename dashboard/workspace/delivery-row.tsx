import { useId } from "preact/hooks";
import type { DeliveryShape } from "../../proto/json/shapes";
import { Instant } from "../parts/instant";
import { Link } from "../router";
import { broughtWords } from "../words/delivery-list";
import { eventPath, messageWords, shortId } from "../words/event-words";
import { isEmptyPoll, type LogRow } from "../words/log-rows";
import { attemptNumber, attemptsOf, attemptWords } from "../words/send-again-words";
import { DeliveryDetails } from "./delivery-details";
import { EventName } from "./event-name";
import { OutcomeBadge } from "./outcome-badge";
import { PollRuns } from "./poll-runs";
import type { SendAgain } from "./use-send-again";

export interface DeliveryRowProps {
  readonly row: LogRow;
  /** The whole log, newest first. */
  readonly deliveries: readonly DeliveryShape[];
  readonly workspaceId: string;
  readonly sendAgain: SendAgain;
  readonly isOpen: boolean;
  onToggle(): void;
  readonly isChosen?: boolean;
  /** Called when the user selects or deselects the row. Missing if the row's event cannot be sent again. */
  onChoose?(): void;
}

/**
 * Shows a row of the log. A click opens the details. If the row is about an event, it also links to the event's page.
 */
export function DeliveryRow(props: DeliveryRowProps) {
  const { row, deliveries, workspaceId, sendAgain, isOpen, onToggle, isChosen = false, onChoose } = props;
  const { delivery } = row;
  const moreId = useId();
  return (
    <li class="log-row">
      {onChoose !== undefined && (
        <label class="log-choice">
          <input
            type="checkbox"
            checked={isChosen}
            onChange={onChoose}
            aria-label={`Select ${messageWords(delivery.summary) ?? delivery.eventType}, ${delivery.eventId}`}
          />
        </label>
      )}
      <button type="button" class="log-line" aria-expanded={isOpen} aria-controls={moreId} onClick={onToggle}>
        <span class="log-when">
          <span class="wide-only">
            <Instant at={delivery.lastAt ?? delivery.at} as="ms" />
          </span>
          <span class="phone-only">
            <Instant at={delivery.lastAt ?? delivery.at} as="time" />
          </span>
        </span>
        <span class="log-type">
          <EventName {...delivery} />
        </span>
        <span class="log-kind">{messageWords(delivery.summary) !== undefined && delivery.eventType}</span>
        <OutcomeBadge delivery={delivery} />
        <span class="log-facts">
          {delivery.polls > 0 ? <PollFacts polls={delivery} /> : <PushFacts delivery={delivery} />}
        </span>
      </button>
      {delivery.eventId !== "" && (
        <Link class="log-link" href={eventPath(workspaceId, delivery.eventId)}>
          <span class="unseen">Event </span>
          <code>{shortId(delivery.eventId)}</code>
        </Link>
      )}
      {isOpen && (
        <div class="log-details" id={moreId}>
          {isEmptyPoll(delivery) ? (
            <PollRuns runs={row.entries} />
          ) : (
            <DeliveryDetails
              delivery={delivery}
              deliveries={deliveries}
              workspaceId={workspaceId}
              sendAgain={sendAgain}
            />
          )}
        </div>
      )}
    </li>
  );
}

/** On a phone, the row shows only the number of the attempt, because the line has no room for other facts. */
function PushFacts({ delivery }: { readonly delivery: DeliveryShape }) {
  const { attempt, latencyMs } = delivery;
  return (
    <>
      <span class="wide-only">
        {attemptWords(delivery)}
        {attempt > 0 && `, ${latencyMs} ms`}
      </span>
      {attemptsOf(delivery) !== undefined && <span class="phone-only">{attemptNumber(delivery)}</span>}
    </>
  );
}

function PollFacts({ polls }: { readonly polls: DeliveryShape }) {
  if (polls.polls === 1 || polls.lastAt === null) return <>{broughtWords(polls)}</>;
  return (
    <>
      <span class="wide-only">{broughtWords(polls)}, </span>
      since <Instant at={polls.at} as="time" />
    </>
  );
}
