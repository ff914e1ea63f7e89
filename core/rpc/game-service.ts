import { status } from "@grpc/grpc-js";
import {
  PublishRefusal,
  type OutboundEvent as EventMessage,
  type PublishEventsResponse,
  type PublishResult,
} from "../../proto/gen/chatbridge/v1/game";
import { PUBLISH_BATCH_MAX } from "../domain/bounds";
import type { OutboundEvent } from "../domain/outbound-event";
import { publishEvent, type PublishContext, type PublishOutcome } from "../operations/publish-events";
import { createFollowHandler, type FollowContext } from "./follow-stream";
import { messageOf, type Decoded, type EventsRequest } from "./game-methods";
import { faultField, readOutboundEvent } from "./outbound-message";
import { StatusError, unary, type ReportFault } from "./status";

export type GameServiceContext = PublishContext & FollowContext;

/** Bytes of `PublishEvents` requests that a core accepts at once: eight requests of the largest size. */
const PUBLISHING_MAX_BYTES = 64 * 1024 * 1024;

/** Returns the handlers of `GAME_METHODS`. */
export function createGameService(context: GameServiceContext, report: ReportFault) {
  const { publishing } = context.tally;
  async function publishEvents(request: Decoded<EventsRequest>): Promise<PublishEventsResponse> {
    const { bytes, count, events } = messageOf(request);
    if (count < 1 || count > PUBLISH_BATCH_MAX) {
      throw new StatusError(
        status.INVALID_ARGUMENT,
        `events must have 1 to ${PUBLISH_BATCH_MAX} entries, not ${count}`,
      );
    }
    if (publishing.bytes + bytes > PUBLISHING_MAX_BYTES) {
      throw new StatusError(
        status.UNAVAILABLE,
        "core is publishing too many events: send the call again later",
      );
    }
    publishing.bytes += bytes;
    try {
      return { results: await Promise.all(events.splice(0).map((event) => publish(context, event))) };
    } finally {
      publishing.bytes -= bytes;
    }
  }
  return {
    publishEvents: unary("PublishEvents", report, publishEvents),
    follow: createFollowHandler(context, report),
  };
}

/** Publishes one event. It is not `async`, because that would allocate two more promises for each event. */
function publish(context: GameServiceContext, decoded: Decoded<EventMessage>): Promise<PublishResult> {
  const { published } = context.tally;
  const read = "fault" in decoded ? decoded : readOutboundEvent(decoded.message);
  if ("fault" in read) {
    published.invalid += 1;
    return Promise.resolve(refusedResult(PublishRefusal.INVALID, read.fault.field, read.fault.message));
  }
  const { event } = read;
  return publishEvent(context, event).then((outcome) => {
    published[outcome.outcome] += 1;
    return resultOf(event, outcome);
  });
}

function resultOf(event: OutboundEvent, outcome: PublishOutcome): PublishResult {
  switch (outcome.outcome) {
    case "published":
    case "repeated":
      return publishedResult(outcome);
    case "unknown-workspace":
      return refusedResult(
        PublishRefusal.UNKNOWN_WORKSPACE,
        "workspace_id",
        "no workspace with this id is connected to a bridge",
      );
    case "invalid": {
      const field = faultField(event, outcome.fault);
      return refusedResult(PublishRefusal.INVALID, field, outcome.fault.message);
    }
  }
}

function publishedResult(published: Extract<PublishOutcome, { sequence: number }>): PublishResult {
  const { eventId, sequence, messageId, expiresAtMs, outcome } = published;
  const expiresAt = expiresAtMs === null ? undefined : new Date(expiresAtMs);
  const value = { eventId, sequence, messageId, repeated: outcome === "repeated", expiresAt };
  return { outcome: { $case: "published", value } };
}

function refusedResult(reason: PublishRefusal, field: string, message: string): PublishResult {
  return { outcome: { $case: "refused", value: { reason, field, message } } };
}
