import { status, type ServerDuplexStream } from "@grpc/grpc-js";
import { InboundEvent } from "../../proto/gen/chatbridge/v1/event";
import type { FollowOpen, FollowRequest, FollowResponse } from "../../proto/gen/chatbridge/v1/game";
import { GROUP_IDLE_MS, GROUPS_MAX } from "../domain/bounds";
import { findGroupFault, followShareOf } from "../domain/caller";
import { enterGroup } from "../operations/enter-group";
import { follow, type Follower } from "../operations/follow";
import type { FollowLog, GroupOpener, LogEntry } from "../ports/follow-log";
import type { Ids } from "../ports/outside";
import { callerOf } from "./call-caller";
import { createFollowPlaces, type FollowPlace } from "./follow-places";
import { messageOf, type Decoded } from "./game-methods";
import { StatusError, toStatus, type ReportFault } from "./status";
import type { CallCounts } from "./call-counts";
import { createDeliverySpans, type DeliverySpans } from "./spans";
import type { Tracer } from "../../runtime/tracing/tracer";

export interface FollowContext {
  readonly followLog: FollowLog;
  readonly ids: Ids;
  readonly callCounts: CallCounts;
  /** Names of the game tokens that are limited to some workspaces. */
  readonly limitedGames: readonly string[];
  /** Aborted when core stops. Open streams are then closed, so that clients open new streams on another core. */
  readonly stopping: AbortSignal;
  readonly tracer?: Tracer | undefined;
}

export type FollowStream = ServerDuplexStream<Decoded<FollowRequest>, FollowResponse>;

/** Returns the handler of `GameService.Follow`. */
export function createFollowHandler(
  context: FollowContext,
  report: ReportFault,
): (stream: FollowStream) => void {
  const enter = createFollowPlaces();
  return (stream) => {
    try {
      serveFollow(context, stream, report, enter(callerOf(stream)));
    } catch (error) {
      stream.emit("error", toStatus("Follow", error, report));
    }
  };
}

const NAME_FORM = /^[A-Za-z0-9._-]{1,64}$/;
const WINDOW_MAX = 1_000;
const ACK_DEADLINE_DEFAULT_MS = 30_000;
const ACK_DEADLINE_MIN_MS = 1_000;
const ACK_DEADLINE_MAX_MS = 600_000;

/**
 * Serves one stream: reads the open request, and then reads acks until the client or core closes the stream. At the
 * end, leaves `place`.
 */
function serveFollow(
  context: FollowContext,
  stream: FollowStream,
  report: ReportFault,
  place: FollowPlace,
): void {
  const { callCounts, followLog } = context;
  const over = new AbortController();
  const end = (): void => over.abort();
  const stop = (): void => (follower === undefined ? end() : follower.finish());
  let follower: Follower | undefined;
  let opening: Promise<void> | undefined;
  let spans: DeliverySpans | undefined;

  function fail(error: unknown): void {
    // The abort ends the stream with OK, so the error must be sent before the abort.
    if (!stream.cancelled) stream.emit("error", toStatus("Follow", error, report));
    over.abort();
  }

  async function open(request: FollowOpen): Promise<void> {
    const { group, consumer, window, ackDeadlineMs } = readOpen(request);
    const caller = callerOf(stream);
    const groupFault = findGroupFault(caller, group, context.limitedGames);
    if (groupFault !== undefined) throw new StatusError(status.PERMISSION_DENIED, groupFault);
    const { workspaces } = caller;
    const member = { group, name: consumer, token: context.ids.token(), workspaces };
    const opener = { tokenName: caller.name, groupsMax: followShareOf(caller).groups };
    let enteredAt = 0;
    const entered = await place.whenTurn(async () => {
      if (over.signal.aborted) return undefined;
      enteredAt = performance.now();
      return enterGroup(followLog, member, opener);
    });
    if (entered === undefined) return close();
    if (entered === "full") throw groupIsFull(followLog);
    if (entered !== "opened") throw noMoreGroups(entered, opener);
    stream.write({ say: { $case: "opened", value: {} } });
    spans = context.tracer && createDeliverySpans(context.tracer, group);
    const opened = follow(followLog, {
      member,
      enteredAt,
      window,
      ackDeadlineMs,
      signal: over.signal,
      deliver: (deliveryId, entry) => {
        if (over.signal.aborted) return;
        callCounts.delivered[entry.attempt > 1 ? "again" : "first"] += 1;
        const traceparent = spans?.begin(deliveryId, entry) ?? entry.traceparent;
        stream.write(toDelivery(deliveryId, entry, traceparent));
      },
      isBehind: () => stream.writableNeedDrain,
    });
    follower = opened;
    stream.on("drain", opened.resume);
    callCounts.followers.add(opened);
    const ended = await opened.ended.finally(() => callCounts.followers.delete(opened));
    if (ended === "replaced")
      throw new StatusError(status.ABORTED, "a newer stream of this consumer has replaced this one");
    if (ended === "full") throw groupIsFull(followLog);
    close();
  }

  function close(): void {
    if (context.stopping.aborted) throw coreStops();
    stream.end();
  }

  function take(request: Decoded<FollowRequest>): void {
    const { say } = messageOf(request);
    if (say?.$case === "ack" && opening !== undefined) {
      follower?.ack(say.value.deliveryIds);
      spans?.acked(say.value.deliveryIds);
    } else if (say?.$case === "open" && opening === undefined) {
      opening = open(say.value).catch(fail);
    } else {
      throw new StatusError(
        status.INVALID_ARGUMENT,
        "the first request must be an open, and every later request an ack",
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
      context.stopping.removeEventListener("abort", stop);
      spans?.close();
      void (opening ?? Promise.resolve()).finally(place.leave);
      // If an open request has arrived, `open()` ends the stream.
      if (opening !== undefined) return;
      if (context.stopping.aborted) fail(coreStops());
      else stream.end();
    },
    { once: true },
  );
  if (context.stopping.aborted) end();
  else context.stopping.addEventListener("abort", stop, { once: true });
}

function groupIsFull({ streamsMax }: FollowLog): StatusError {
  return new StatusError(
    status.RESOURCE_EXHAUSTED,
    `the group already has ${streamsMax} streams, which is the limit: close one of them, or retry later`,
  );
}

function noMoreGroups(full: "token-full" | "all-full", { tokenName, groupsMax }: GroupOpener): StatusError {
  const what =
    full === "token-full"
      ? `the token ${tokenName} already has ${groupsMax} groups, which is its share`
      : `there are already ${GROUPS_MAX} groups, which is the limit for all tokens`;
  const hours = GROUP_IDLE_MS / 3_600_000;
  const advice = `follow an existing group, let an operator delete a group (chat-bridge groups delete), or wait: core removes a group without streams after ${hours} hours`;
  return new StatusError(status.RESOURCE_EXHAUSTED, `${what}: ${advice}`);
}

function coreStops(): StatusError {
  return new StatusError(status.UNAVAILABLE, "core is stopping: open the stream again");
}

function readOpen({ group, consumer, window, ackDeadline }: FollowOpen) {
  const ackDeadlineMs = ackDeadline
    ? ackDeadline.seconds * 1000 + ackDeadline.nanos / 1e6
    : ACK_DEADLINE_DEFAULT_MS;
  const fault = !NAME_FORM.test(group)
    ? "open.group must be 1 to 64 characters of A-Z a-z 0-9 . _ -"
    : !NAME_FORM.test(consumer)
      ? "open.consumer must be 1 to 64 characters of A-Z a-z 0-9 . _ -"
      : window < 1 || window > WINDOW_MAX
        ? `open.window must be 1 to ${WINDOW_MAX}`
        : ackDeadlineMs < ACK_DEADLINE_MIN_MS || ackDeadlineMs > ACK_DEADLINE_MAX_MS
          ? "open.ack_deadline must be 1 second to 10 minutes"
          : undefined;
  if (fault !== undefined) throw new StatusError(status.INVALID_ARGUMENT, fault);
  return { group, consumer, window, ackDeadlineMs };
}

function toDelivery(deliveryId: string, entry: LogEntry, traceparent = ""): FollowResponse {
  return {
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
        traceparent,
      },
    },
  };
}
