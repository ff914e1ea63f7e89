import { FAILED_MAX, type SendAgainResult } from "../../contract/deliveries";
import { EVENT_ID_FORM } from "../../contract/forms";
import { sendAgainUntilMs, type FailedEvent } from "../domain/failed-event";
import type { Clock } from "../ports/outside";
import type { FailedEvents } from "../ports/delivery-log";
import type { Workspaces } from "../ports/workspaces";
import { logSent, type SentLogContext } from "./log-sent";
import { NOT_FOUND, precondition, type WorkspaceRefusal } from "./workspaces";

export interface FailedEventsContext extends SentLogContext {
  readonly now: Clock;
  readonly workspaces: Workspaces;
  readonly failedEvents: FailedEvents;
}

/**
 * A failed event, and the time until which it can be sent again, in ms since the epoch; undefined if it cannot be sent
 * again.
 */
export interface ListedEvent extends FailedEvent {
  readonly sendAgainUntilMs: number | undefined;
}

/** Lists the failed events of a workspace, newest failure first. */
export async function listFailedEvents(
  { now, workspaces, failedEvents }: Pick<FailedEventsContext, "now" | "workspaces" | "failedEvents">,
  workspaceId: string,
): Promise<{ readonly events: readonly ListedEvent[] } | WorkspaceRefusal> {
  const record = await workspaces.read(workspaceId);
  if (record === undefined) return NOT_FOUND;
  const events = await failedEvents.list(workspaceId);
  return {
    events: events.map((event) => ({
      ...event,
      sendAgainUntilMs: sendAgainUntilMs(event, record.workspace, now()),
    })),
  };
}

export interface SentAgain {
  readonly eventId: string;
  readonly result: SendAgainResult;
}

/**
 * Puts failed events back into the push queue, and logs that they are sent again. Returns the result for each id, in
 * order.
 */
export async function sendAgain(
  context: FailedEventsContext,
  workspaceId: string,
  eventIds: readonly string[],
): Promise<{ readonly results: readonly SentAgain[] } | WorkspaceRefusal> {
  const { workspaces, failedEvents } = context;
  if (eventIds.length === 0 || eventIds.length > FAILED_MAX) {
    return { refused: "invalid", message: `event_ids must have 1 to ${FAILED_MAX} ids` };
  }
  if (!eventIds.every((id) => EVENT_ID_FORM.test(id))) {
    return { refused: "invalid", message: "event_ids: each id must be the id of an event" };
  }
  if ((await workspaces.read(workspaceId)) === undefined) return NOT_FOUND;
  const results = await failedEvents.sendAgain(workspaceId, eventIds, context.by);
  if (results === undefined) {
    return precondition(
      "the workspace is not connected or has no target URL: connect it and set its target URL",
    );
  }
  const queued = results.filter((result) => result === "queued").length;
  if (queued > 0) {
    const detail = queued === 1 ? "1 event" : `${queued} events`;
    await logSent(context, workspaceId, "events-sent-again", detail);
  }
  return {
    results: eventIds.map((eventId, i) => ({ eventId, result: results[i] ?? "not-kept" })),
  };
}
