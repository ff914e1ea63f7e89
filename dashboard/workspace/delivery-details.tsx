import { useRef } from "preact/hooks";
import type { DeliveryShape, StoredEventShape } from "../../proto/json/shapes";
import { api } from "../api";
import { CopyButton } from "../parts/copy-button";
import { Loading } from "../parts/loading";
import { ErrorNotice } from "../parts/notice";
import { Link } from "../router";
import { useLoad } from "../use-load";
import { adviceFor } from "../words/advice";
import { eventPath } from "../words/event-words";
import { attemptNumber } from "../words/send-again-words";
import { BridgeResponse } from "./bridge-response";
import { EventAttempts } from "./event-attempts";
import { SendOneAgain } from "./send-one-again";
import { StoredEvents } from "./stored-events";
import type { SendAgain } from "./use-send-again";

export interface DeliveryDetailsProps {
  readonly delivery: DeliveryShape;
  /** The whole log, newest first. */
  readonly deliveries: readonly DeliveryShape[];
  readonly workspaceId: string;
  readonly sendAgain: SendAgain;
}

/**
 * Shows the details of a push or of a poll that returned events. Details that are not in the log are loaded from the
 * server.
 */
export function DeliveryDetails({ delivery, deliveries, workspaceId, sendAgain }: DeliveryDetailsProps) {
  const { eventId, polls, result, status } = delivery;
  const isPush = polls === 0;
  const attempts = isPush ? deliveries.filter((each) => each.eventId === eventId).toReversed() : [];
  // The service stores the event only after its last attempt has failed, so each new attempt causes a new read. A read
  // that the page makes by itself does not count as use of the session.
  const attemptsAtFirst = useRef(attempts.length).current;
  const { data, error, loading, again } = useLoad(
    (signal, by) =>
      api.delivery(workspaceId, delivery.id, signal, attempts.length === attemptsAtFirst ? by : "itself"),
    [workspaceId, delivery.id, attempts.length],
  );
  // The service deletes an event when it is sent again, but the user may still be reading it, so the page keeps its own
  // copy.
  const lastEvents = useRef<readonly StoredEventShape[]>([]);
  if (data !== undefined && data.events.length > 0) lastEvents.current = data.events;
  const advice = adviceFor(delivery);
  return (
    <>
      {advice !== undefined && <p class="advice">{advice}</p>}
      <Facts delivery={delivery} workspaceId={workspaceId} />
      {isPush && <SendOneAgain delivery={delivery} sendAgain={sendAgain} />}
      {attempts.length > 1 && <EventAttempts attempts={attempts} shown={delivery} />}
      {data === undefined && loading && <Loading what="Loading the event" />}
      <ErrorNotice error={error} again={again} />
      {data !== undefined && (
        <>
          {isPush && result !== "success" && status !== 0 && (
            <BridgeResponse response={data.response} at={data.delivery.at} />
          )}
          <StoredEvents delivery={delivery} events={lastEvents.current} workspaceId={workspaceId} />
        </>
      )}
    </>
  );
}

function Facts({ delivery, workspaceId }: Pick<DeliveryDetailsProps, "delivery" | "workspaceId">) {
  const { eventId, eventType, summary, address, attempt, latencyMs, result, polls } = delivery;
  if (polls > 0) return null;
  return (
    <dl class="log-facts-list">
      <div class="wide">
        <dt>Event</dt>
        <dd>
          <code>{eventId}</code>
          <CopyButton short text={eventId} what="the event id" />
          <Link href={eventPath(workspaceId, eventId)}>Open the event's page</Link>
        </dd>
      </div>
      <div>
        <dt>Type</dt>
        <dd>{eventType}</dd>
      </div>
      {summary !== null && summary.messageId !== "" && (
        <div>
          <dt>Message</dt>
          <dd>
            <code>{summary.messageId}</code>
          </dd>
        </div>
      )}
      <div>
        <dt>Address</dt>
        <dd>{address === "" ? "none" : <code>{address}</code>}</dd>
      </div>
      <div>
        <dt>Attempt</dt>
        <dd>{attempt === 0 ? "none" : attemptNumber(delivery)}</dd>
      </div>
      <div>
        <dt>Latency</dt>
        <dd>{attempt === 0 ? "–" : `${latencyMs} ms`}</dd>
      </div>
      <div>
        <dt>Error class</dt>
        <dd>{result === "success" ? "none" : <code>{result}</code>}</dd>
      </div>
    </dl>
  );
}
