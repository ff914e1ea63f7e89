import type { EventPlace } from "../../contract/deliveries";
import { eventIdMs } from "../domain/event-id";
import { placeOf } from "../domain/event-place";
import { summarize, type EventSummary } from "../domain/event-summary";
import { sendAgainUntilMs } from "../domain/failed-event";
import type { EventAttempt, EventTracesReader, StoredTraces } from "../ports/event-traces";
import type { Clock } from "../ports/outside";
import type { Workspaces } from "../ports/workspaces";
import type { StoredEvent } from "./read-delivery";
import { NOT_FOUND, type WorkspaceRefusal } from "./workspaces";

export interface ReadEventContext {
  readonly now: Clock;
  readonly workspaces: Workspaces;
  readonly eventTraces: EventTracesReader;
}

/** One event with everything that the store contains about it. Lists are oldest first. */
export interface EventDetail {
  readonly eventId: string;
  readonly eventType: string;
  readonly publishedAtMs: number;
  /** Null if the event never expires, or if its expiry is unknown. */
  readonly expiresAtMs: number | null;
  /** The name of the token that published the event; empty when unknown. */
  readonly publisher: string;
  readonly summary: EventSummary | undefined;
  readonly place: EventPlace;
  readonly event: StoredEvent | undefined;
  readonly attempts: readonly EventAttempt[];
  readonly sentAgain: StoredTraces["sentAgain"];
}

/** Reads one event of a workspace; "no-event" when the store contains nothing about the event. */
export async function readEvent(
  { now, workspaces, eventTraces }: ReadEventContext,
  workspaceId: string,
  eventId: string,
): Promise<EventDetail | "no-event" | WorkspaceRefusal> {
  const record = await workspaces.read(workspaceId);
  if (record === undefined) return NOT_FOUND;
  const { held, queued, failed, attempts, sentAgain } = await eventTraces.read(workspaceId, eventId);
  const deliveries = attempts.map(({ delivery }) => delivery);
  const place = placeOf({ held, isQueued: queued !== undefined, isKept: failed !== undefined, deliveries });
  if (place === undefined) return "no-event";
  const envelope = (held ?? queued ?? failed)?.envelope;
  const stored = envelope && readEnvelope(envelope);
  const logged = deliveries.findLast(({ event }) => event !== undefined);
  const publisher =
    (held ?? queued)?.publisher || deliveries.find(({ event }) => event?.publisher)?.event?.publisher;
  return {
    eventId,
    eventType: stored?.type ?? deliveries.at(-1)?.eventType ?? "",
    publishedAtMs: stored?.createdAtMs ?? eventIdMs(eventId),
    expiresAtMs: stored ? stored.expiresAtMs : (logged?.event?.expiresAtMs ?? null),
    publisher: publisher ?? "",
    summary: envelope ? summarize(envelope) : logged?.event?.summary,
    place,
    event: envelope && {
      eventId,
      json: envelope.toString("utf8"),
      sendAgainUntilMs:
        failed && place !== "queued" ? sendAgainUntilMs(failed, record.workspace, now()) : undefined,
    },
    attempts,
    sentAgain,
  };
}

/** Reads the fields of an event that core has rendered. */
function readEnvelope(envelope: Buffer) {
  const { type, createdAt, expiresAt } = JSON.parse(envelope.toString("utf8")) as {
    readonly type: string;
    readonly createdAt: string;
    readonly expiresAt: string | null;
  };
  return {
    type,
    createdAtMs: Date.parse(createdAt),
    expiresAtMs: expiresAt === null ? null : Date.parse(expiresAt),
  };
}
