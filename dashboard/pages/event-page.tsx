import { useRef } from "preact/hooks";
import type { DeliveryShape, EventShape, StoredEventShape, WorkspaceShape } from "../../proto/json/shapes";
import { api } from "../api";
import { RequestCard } from "../event/request-card";
import { TimelineCard } from "../event/timeline-card";
import { ToneBadge } from "../parts/badge";
import { CopyButton } from "../parts/copy-button";
import { Instant } from "../parts/instant";
import { Loading } from "../parts/loading";
import { ErrorNotice } from "../parts/notice";
import { DemoChatLink } from "../parts/demo-chat-link";
import { PageHeading } from "../parts/page-heading";
import { Link } from "../router";
import { useLoad } from "../use-load";
import { loggedUntil, placeWords, whyGone } from "../words/event-place-words";
import { messageWords, placeOf } from "../words/event-words";
import { EventName } from "../workspace/event-name";
import { LivenessBadge, LivenessNotice } from "../workspace/liveness";
import { NoWorkspace } from "../workspace/no-workspace";
import { SendOneAgain } from "../workspace/send-one-again";
import { Payload } from "../workspace/stored-events";
import { useSendAgain } from "../workspace/use-send-again";
import { useWorkspace } from "../workspace/use-workspace";

const NOT_FOUND = 404;
const NO_DELIVERIES: readonly DeliveryShape[] = [];

export interface EventPageProps {
  readonly id: string;
  readonly eventId: string;
}

/**
 * The page of one event, at a permanent address. It shows the event, its place (e.g. held or queued), and what happened
 * to it.
 */
export function EventPage({ id, eventId }: EventPageProps) {
  const { workspace, deliveries = NO_DELIVERIES, liveness, updatedAt, error, gone } = useWorkspace(id);
  const isHeld = useRef(false);
  // The stream reports each attempt and each poll. Polls matter because the poll after the one that fetched the event
  // confirms the event.
  const news = deliveries.find((each) => each.eventId === eventId || (isHeld.current && each.polls > 0));
  const isFirst = useRef(true);
  const loaded = useLoad(
    (signal, by) => {
      const asked = isFirst.current ? by : "itself";
      isFirst.current = false;
      return api.event(id, eventId, signal, asked);
    },
    [id, eventId, news?.id, news?.polls, liveness === "live"],
  );
  const { data } = loaded;
  isHeld.current = data?.place === "held";

  if (gone) return <NoWorkspace />;
  if (data === undefined && loaded.error?.status === NOT_FOUND) {
    return <NoEvent id={id} eventId={eventId} why={loaded.error.message} />;
  }
  return (
    <>
      <nav class="crumbs" aria-label="Where you are">
        <Link href="/">Workspaces</Link>
        {" / "}
        <Link href={logPath(id, eventId)}>
          <bdi>{workspace?.name ?? "the workspace"}</bdi>
        </Link>
      </nav>
      <PageHeading
        title={(data && messageWords(data.summary)) ?? data?.eventType ?? "Event"}
        shown={data === undefined ? "Event" : <EventName {...data} />}
      >
        {data !== undefined && (
          <ToneBadge tone={placeWords(data.place).tone}>{placeWords(data.place).label}</ToneBadge>
        )}
        <LivenessBadge liveness={liveness} />
      </PageHeading>
      <DemoChatLink workspaceId={id} eventId={eventId} />
      <LivenessNotice liveness={liveness} updatedAt={updatedAt} />
      <ErrorNotice error={error ?? loaded.error} />
      {data === undefined && loaded.error === undefined && <Loading what="Loading the event" />}
      {data !== undefined && workspace !== undefined && (
        <Found event={data} workspace={workspace} deliveries={deliveries} />
      )}
    </>
  );
}

/** Returns the path of the log, filtered to one event, with the row of the event open. */
function logPath(id: string, eventId: string): string {
  return `/workspaces/${encodeURIComponent(id)}?${new URLSearchParams({ event: eventId, open: eventId })}`;
}

function NoEvent({ id, eventId, why }: EventPageProps & { readonly why: string }) {
  return (
    <div class="narrow">
      <PageHeading title="There is no such event" />
      <p>{why}</p>
      <p>
        <code>{eventId}</code>
      </p>
      <Link href={`/workspaces/${encodeURIComponent(id)}`}>The workspace and its log</Link>
    </div>
  );
}

interface FoundProps {
  readonly event: EventShape;
  readonly workspace: WorkspaceShape;
  readonly deliveries: readonly DeliveryShape[];
}

function Found({ event, workspace, deliveries }: FoundProps) {
  const sendAgain = useSendAgain(workspace, deliveries);
  // The service deletes a stored event when it is sent again or accepted. The page keeps a copy, because the user may
  // still be reading it.
  const last = useRef<StoredEventShape | undefined>(undefined);
  if (event.event !== null) last.current = event.event;
  const stored = last.current;
  return (
    <>
      <section class="card" aria-labelledby="about-title">
        <div>
          <h2 id="about-title" class="unseen">
            About the event
          </h2>
          <p>{placeWords(event.place).sentence}</p>
        </div>
        <Facts event={event} />
        <SendOneAgain delivery={event} sendAgain={sendAgain} />
        <p>
          <Link href={logPath(workspace.id, event.eventId)}>Show the event in the log</Link>
        </p>
      </section>
      <div class="event-columns">
        <div class="event-column">
          <TimelineCard event={event} />
          <EventCard event={event} stored={stored} />
        </div>
        {stored !== undefined && (
          <RequestCard
            isPushed={workspace.mode === "push"}
            push={{
              workspaceId: workspace.id,
              eventId: event.eventId,
              targetUrl: workspace.targetUrl,
              json: stored.json,
            }}
          />
        )}
      </div>
    </>
  );
}

interface EventCardProps {
  readonly event: EventShape;
  readonly stored: StoredEventShape | undefined;
}

/** Shows the event as JSON. If the service no longer stores the event, says why, and what it still stores about it. */
function EventCard({ event, stored }: EventCardProps) {
  const gone = whyGone(event);
  const until = loggedUntil(event);
  return (
    <section class="card" aria-labelledby="event-title">
      <h2 id="event-title">Event</h2>
      {gone !== undefined && (
        <p class="hint">
          {gone}
          {until !== undefined && (
            <>
              {" "}
              The log keeps its attempts until <Instant at={until} />.
            </>
          )}
        </p>
      )}
      {stored !== undefined && <Payload event={stored} />}
    </section>
  );
}

function Facts({ event: { eventId, eventType, summary, publisher } }: { readonly event: EventShape }) {
  const place = summary === null ? "" : placeOf(summary);
  const messageId = summary?.messageId ?? "";
  return (
    <dl class="log-facts-list event-facts">
      <div>
        <dt>Event</dt>
        <dd>
          <code>{eventId}</code>
          <CopyButton short text={eventId} what="the event id" />
        </dd>
      </div>
      <div>
        <dt>Type</dt>
        <dd>{eventType}</dd>
      </div>
      {place !== "" && (
        <div>
          <dt>{summary?.channel === "" ? "Member" : "Channel"}</dt>
          <dd>
            <bdi>{place}</bdi>
          </dd>
        </div>
      )}
      {messageId !== "" && (
        <div>
          <dt>Message</dt>
          <dd>
            <code>{messageId}</code>
            <CopyButton short text={messageId} what="the message id" />
          </dd>
        </div>
      )}
      {publisher !== "" && (
        <div>
          <dt>Published by</dt>
          <dd>
            <bdi>{publisher}</bdi>
          </dd>
        </div>
      )}
    </dl>
  );
}
