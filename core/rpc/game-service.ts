import { status, type handleUnaryCall, type ServerDuplexStream } from "@grpc/grpc-js";
import { InboundEvent } from "../../proto/gen/chatbridge/v1/event";
import {
  FollowResponse,
  PublishedEvent,
  PublishEventsResponse,
  PublishRefusal,
  PublishResult,
  type FollowOpen,
  type FollowRequest,
  type OutboundEvent as EventMessage,
} from "../../proto/gen/chatbridge/v1/game";
import { PUBLISH_BATCH_MAX } from "../domain/contract";
import { follow, type Follower } from "../operations/follow";
import { publishEvent, type PublishContext, type PublishOutcome } from "../operations/publish-events";
import type { FollowLog, LogEntry } from "../ports/follow-log";
import { faultField, readOutboundEvent } from "./outbound-message";
import type { Decoded, EventsRequest } from "./game-methods";
import { StatusError, toStatus, unary, type ReportFault } from "./status";
import type { Tally } from "./tally";

export interface GameServiceContext extends PublishContext {
  readonly followLog: FollowLog;
  readonly tally: Tally;
  /** Aborted when core stops: open streams are ended, so that their clients open them elsewhere. */
  readonly stopping: AbortSignal;
}

/** The handlers of GAME_METHODS. */
export interface GameHandlers {
  readonly publishEvents: handleUnaryCall<Decoded<EventsRequest>, PublishEventsResponse>;
  readonly follow: (stream: FollowStream) => void;
}

type FollowStream = ServerDuplexStream<Decoded<FollowRequest>, FollowResponse>;

export function createGameService(context: GameServiceContext, report: ReportFault): GameHandlers {
  return {
    publishEvents: unary("PublishEvents", report, async (request: Decoded<EventsRequest>) => {
      const { count, events } = messageOf(request);
      if (count < 1 || count > PUBLISH_BATCH_MAX) {
        throw new StatusError(
          status.INVALID_ARGUMENT,
          `events must be 1 to ${PUBLISH_BATCH_MAX}, there are ${count}`,
        );
      }
      return PublishEventsResponse.create({
        results: await Promise.all(events.map((event) => publish(context, event))),
      });
    }),
    follow: (stream) => void serveFollow(context, stream, report),
  };
}

async function publish(context: GameServiceContext, decoded: Decoded<EventMessage>): Promise<PublishResult> {
  const { published } = context.tally;
  const read = "fault" in decoded ? decoded : readOutboundEvent(decoded.message);
  if ("fault" in read) {
    published.invalid += 1;
    return refusedResult(PublishRefusal.INVALID, read.fault.field, read.fault.message);
  }
  const outcome = await publishEvent(context, read.event);
  published[outcome.outcome] += 1;
  switch (outcome.outcome) {
    case "published":
    case "repeated":
      return publishedResult(outcome);
    case "unknown-workspace":
      return refusedResult(
        PublishRefusal.UNKNOWN_WORKSPACE,
        "workspace_id",
        "no workspace of that id is connected to a bridge",
      );
    case "invalid": {
      const field = faultField(read.event, outcome.fault);
      return refusedResult(PublishRefusal.INVALID, field, outcome.fault.message);
    }
  }
}

/** The message of a request; throws INVALID_ARGUMENT where it could not be decoded. */
function messageOf<Message>(request: Decoded<Message>): Message {
  if ("message" in request) return request.message;
  throw new StatusError(status.INVALID_ARGUMENT, request.fault.message);
}

function publishedResult(published: Extract<PublishOutcome, { sequence: number }>): PublishResult {
  const { eventId, sequence, messageId, expiresAtMs, outcome } = published;
  const value = PublishedEvent.create({
    eventId,
    sequence,
    messageId,
    repeated: outcome === "repeated",
    ...(expiresAtMs === null ? {} : { expiresAt: new Date(expiresAtMs) }),
  });
  return PublishResult.create({ outcome: { $case: "published", value } });
}

function refusedResult(reason: PublishRefusal, field: string, message: string): PublishResult {
  return PublishResult.create({ outcome: { $case: "refused", value: { reason, field, message } } });
}

const NAME_FORM = /^[A-Za-z0-9._-]{1,64}$/;
const WINDOW_MAX = 1_000;
const ACK_DEADLINE_DEFAULT_MS = 30_000;
const ACK_DEADLINE_MIN_MS = 1_000;
const ACK_DEADLINE_MAX_MS = 600_000;

/** Serves one stream: the open first, then acks, until the client or core ends it. */
async function serveFollow(
  context: GameServiceContext,
  stream: FollowStream,
  report: ReportFault,
): Promise<void> {
  const { tally } = context;
  const over = new AbortController();
  const end = (): void => over.abort();
  if (context.stopping.aborted) end();
  else context.stopping.addEventListener("abort", end, { once: true });
  let follower: Follower | undefined;
  let opening: Promise<void> | undefined;

  function fail(error: unknown): void {
    // Before the abort, which would end the stream as if all were well.
    if (!stream.cancelled) stream.emit("error", toStatus("Follow", error, report));
    over.abort();
  }

  async function open(request: FollowOpen): Promise<void> {
    const { group, consumer, window, ackDeadlineMs } = readOpen(request);
    await context.followLog.open(group);
    stream.write(FollowResponse.create({ say: { $case: "opened", value: {} } }));
    const opened = follow(context.followLog, {
      member: { group, name: consumer, token: context.ids.token() },
      window,
      ackDeadlineMs,
      signal: over.signal,
      deliver: (deliveryId, entry) => {
        if (over.signal.aborted) return;
        tally.delivered[entry.attempt > 1 ? "again" : "first"] += 1;
        stream.write(toDelivery(deliveryId, entry));
      },
    });
    follower = opened;
    tally.followers.add(opened);
    const ended = await opened.ended.finally(() => tally.followers.delete(opened));
    if (ended === "replaced")
      throw new StatusError(status.ABORTED, "a newer stream of this consumer took its place");
    if (context.stopping.aborted) throw coreStops();
    stream.end();
  }

  function take(request: Decoded<FollowRequest>): void {
    const { say } = messageOf(request);
    if (say?.$case === "ack" && opening !== undefined) {
      follower?.ack(say.value.deliveryIds);
    } else if (say?.$case === "open" && opening === undefined) {
      opening = open(say.value).catch(fail);
    } else {
      throw new StatusError(
        status.INVALID_ARGUMENT,
        "the first request must be an open, every further one an ack",
      );
    }
  }

  stream.on("data", (request: Decoded<FollowRequest>) => {
    try {
      take(request);
    } catch (error) {
      fail(error);
    }
  });
  stream.on("end", end);
  stream.on("cancelled", end);
  stream.on("error", end);
  over.signal.addEventListener(
    "abort",
    () => {
      context.stopping.removeEventListener("abort", end);
      // A stream that never opened has nobody else to end it.
      if (opening !== undefined) return;
      if (context.stopping.aborted) fail(coreStops());
      else stream.end();
    },
    { once: true },
  );
}

function coreStops(): StatusError {
  return new StatusError(status.UNAVAILABLE, "core is stopping: open again");
}

function readOpen({ group, consumer, window, ackDeadline }: FollowOpen): {
  group: string;
  consumer: string;
  window: number;
  ackDeadlineMs: number;
} {
  const ackDeadlineMs = ackDeadline
    ? ackDeadline.seconds * 1000 + ackDeadline.nanos / 1e6
    : ACK_DEADLINE_DEFAULT_MS;
  const fault = !NAME_FORM.test(group)
    ? "open.group must be 1 to 64 of A-Z a-z 0-9 . _ -"
    : !NAME_FORM.test(consumer)
      ? "open.consumer must be 1 to 64 of A-Z a-z 0-9 . _ -"
      : window < 1 || window > WINDOW_MAX
        ? `open.window must be 1 to ${WINDOW_MAX}`
        : ackDeadlineMs < ACK_DEADLINE_MIN_MS || ackDeadlineMs > ACK_DEADLINE_MAX_MS
          ? "open.ack_deadline must be 1 second to 10 minutes"
          : undefined;
  if (fault !== undefined) throw new StatusError(status.INVALID_ARGUMENT, fault);
  return { group, consumer, window, ackDeadlineMs };
}

function toDelivery(deliveryId: string, entry: LogEntry): FollowResponse {
  return FollowResponse.create({
    say: {
      $case: "delivery",
      value: {
        deliveryId,
        attempt: entry.attempt,
        received: {
          workspaceId: entry.workspaceId,
          receivedAt: new Date(entry.receivedAtMs),
          event: InboundEvent.decode(entry.event),
        },
      },
    },
  });
}
