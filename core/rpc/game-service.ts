import { setImmediate as endOfTurn } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import {
  PublishRefusal,
  type OutboundEvent as EventMessage,
  type PublishEventsResponse,
  type PublishResult,
} from "../../proto/gen/chatbridge/v1/game";
import type { Caller } from "../domain/caller";
import { PUBLISH_BATCH_MAX, PUBLISH_CALL_BYTES, PUBLISH_SLICES } from "../domain/bounds";
import { createFairSlots } from "../domain/fair-slots";
import type { OutboundFault } from "../domain/outbound-rules";
import { preparePublication } from "../operations/publish-events";
import type { Clock, Ids } from "../ports/outside";
import type { OutboundEvents, Publication, Published } from "../ports/outbound-events";
import { callerOf, cancelledSignal, whenOver, type ServedCall } from "./call-caller";
import type { CallPace } from "./call-pace";
import { createCallTurns } from "./call-turns";
import { createFollowHandler, type FollowContext } from "./follow-stream";
import { messageOf, type Decoded, type EventsRequest, type SentEvent } from "./game-methods";
import { faultField, readOutboundEvent } from "./outbound-message";
import { startPublishSpans, type PublishSpans } from "./spans";
import type { Tracer } from "../../runtime/tracing/tracer";
import { StatusError, unary, type ReportFault } from "./status";
import { ownerOf, tooMuch } from "./token-shares";

export interface GameServiceContext extends FollowContext {
  readonly now: Clock;
  readonly ids: Ids;
  readonly outboundEvents: OutboundEvents;
  readonly tracer?: Tracer | undefined;
}

/** An event that is ready to be stored, or the reason why it is refused. */
type Prepared = Publication | PublishResult;

const MB = 1_048_576;

/** Returns the handlers of `GAME_METHODS`. */
export function createGameService(context: GameServiceContext, report: ReportFault, pace: CallPace) {
  const publisher = new Publisher(context, pace);
  return {
    publishEvents: unary("PublishEvents", report, (request: Decoded<EventsRequest>, call) =>
      publisher.publishEvents(request, call),
    ),
    follow: createFollowHandler(context, report),
  };
}

/** Publishes the events of `PublishEvents` calls. */
class Publisher {
  readonly #context: GameServiceContext;
  readonly #pace: CallPace;
  readonly #inTurn = createCallTurns();
  readonly #largeCalls = createFairSlots(PUBLISH_SLICES);

  constructor(context: GameServiceContext, pace: CallPace) {
    this.#context = context;
    this.#pace = pace;
  }

  async publishEvents(request: Decoded<EventsRequest>, call: ServedCall): Promise<PublishEventsResponse> {
    const { tracer, callCounts } = this.#context;
    const message = messageOf(request);
    const { bytes, count } = message;
    if (count < 1 || count > PUBLISH_BATCH_MAX) {
      throw new StatusError(
        status.INVALID_ARGUMENT,
        `events must have 1 to ${PUBLISH_BATCH_MAX} entries, not ${count}`,
      );
    }
    const { publishing } = callCounts;
    const release = publishing.acquire(ownerOf(callerOf(call)), Math.max(bytes, PUBLISH_CALL_BYTES));
    if (typeof release === "string") {
      const calls = `${Math.floor(publishing.max[release] / MB)} MB of calls to PublishEvents in progress`;
      // Games repeat calls that fail with this status.
      throw new StatusError(status.UNAVAILABLE, tooMuch(calls, release, callerOf(call)));
    }
    const spans = tracer && startPublishSpans(tracer, call.metadata);
    try {
      await this.#pace.publish(call, count, bytes);
      const results = await this.#publish(message, call, spans);
      spans?.end();
      return { results };
    } catch (error) {
      spans?.end(error instanceof Error ? error.name : "error");
      throw error;
    } finally {
      whenOver(call, release);
    }
  }

  /**
   * Publishes the events of a call, in order. Between the slices of a large call, core publishes slices of other calls.
   * If the client cancels a large call, core does not publish the remaining slices of that call.
   */
  async #publish(
    { events, bytes }: EventsRequest,
    call: ServedCall,
    spans: PublishSpans | undefined,
  ): Promise<PublishResult[]> {
    const caller = callerOf(call);
    const slices = this.#prepareSlices(events, caller, spans);
    const results: PublishResult[] = [];
    /** Prepares and publishes the next slice. Resolves to false when no slice is left. */
    const publishNext = async (): Promise<boolean> => {
      const slice = slices.next();
      if (slice.done === true) return false;
      results.push(...(await this.#publishSlice(slice.value)));
      return true;
    };
    if (bytes <= PUBLISH_SLICES.bytes) {
      await this.#inTurn(call, publishNext);
      return results;
    }
    const turn = { signal: cancelledSignal(call) };
    try {
      // If no slice contains a valid event, core makes no call to the store. In that case, only this pause lets core
      // work on other calls.
      while (await this.#largeCalls.run(caller.name, publishNext, turn)) await endOfTurn();
    } finally {
      slices.return(undefined);
    }
    return results;
  }

  /**
   * Decodes and renders the events of a call, slice by slice. Drops the decoded events before the call to the store.
   * Otherwise, the garbage collector would have to copy them during that call.
   */
  *#prepareSlices(
    events: Iterable<SentEvent>,
    caller: Caller,
    spans: PublishSpans | undefined,
  ): Generator<readonly Prepared[], undefined> {
    let slice: Prepared[] = [];
    let size = 0;
    for (const { event, bytes } of events) {
      slice.push(this.#prepare(event, caller, spans));
      size += bytes;
      if (size < PUBLISH_SLICES.bytes) continue;
      yield slice;
      [slice, size] = [[], 0];
    }
    if (slice.length > 0) yield slice;
  }

  #prepare(decoded: Decoded<EventMessage>, caller: Caller, spans: PublishSpans | undefined): Prepared {
    const read = "fault" in decoded ? decoded : readOutboundEvent(decoded.message);
    if ("fault" in read) return this.#invalid(read.fault.field, read.fault);
    const prepared = preparePublication(this.#context, read.event, caller);
    if (!("outcome" in prepared)) {
      if (spans === undefined || "fault" in decoded) return prepared;
      return { ...prepared, traceparent: spans.contextOf(decoded.message.traceparent) };
    }
    if (prepared.outcome === "unknown-workspace") return this.#unknown(caller);
    return this.#invalid(faultField(read.event, prepared.fault), prepared.fault);
  }

  async #publishSlice(slice: readonly Prepared[]): Promise<PublishResult[]> {
    const stored = await this.#context.outboundEvents.publishAll(slice.filter(isPublication));
    const published = stored.values();
    return slice.map((each) =>
      isPublication(each) ? this.#toResult(published.next().value as Published) : each,
    );
  }

  #toResult(outcome: Published): PublishResult {
    this.#context.callCounts.published[outcome.outcome] += 1;
    switch (outcome.outcome) {
      case "store-full":
        return refusedResult(PublishRefusal.HELD_FULL, "workspace_id", NO_MEMORY_TO_HOLD);
      case "held-full":
        return refusedResult(PublishRefusal.HELD_FULL, "workspace_id", whyHeldFull(outcome));
      case "stale":
        return refusedResult(PublishRefusal.STALE, "fence", WHY_STALE);
      case "unknown-workspace":
        return refusedResult(PublishRefusal.UNKNOWN_WORKSPACE, "workspace_id", WHY_UNKNOWN);
      default:
        return publishedResult(outcome);
    }
  }

  /** The result for an event whose workspace does not exist, or is outside the scope of a limited token. */
  #unknown({ name, workspaces }: Caller): PublishResult {
    const result = this.#toResult({ outcome: "unknown-workspace" });
    if (workspaces === undefined) return result;
    const why = `${WHY_UNKNOWN}, or the token ${name} may not use it`;
    return refusedResult(PublishRefusal.UNKNOWN_WORKSPACE, "workspace_id", why);
  }

  #invalid(field: string, { message }: OutboundFault): PublishResult {
    this.#context.callCounts.published.invalid += 1;
    return refusedResult(PublishRefusal.INVALID, field, message);
  }
}

const WHY_UNKNOWN = "no workspace with this id is connected to a bridge";
const WHY_STALE =
  "the stream no longer owns the workspace's shard, or the delivery was acked or delivered again: drop the work that led to this event";

const NO_MEMORY_TO_HOLD =
  "Redis has no memory left to hold events for polling bridges: send the event again later, or raise Redis's maxmemory";

function whyHeldFull({ bytes, waiting }: Extract<Published, { outcome: "held-full" }>): string {
  const held = `the events of the last 24 hours that are held for this workspace take ${Math.ceil(bytes / 1024)} KB, so this event would exceed the limit`;
  return waiting === 0
    ? `${held}: send fewer or smaller events, or raise HELD_MAX_BYTES`
    : `${held}, and its bridge does not poll (${waiting} events wait): check the bridge, and send the event again later`;
}

function isPublication(prepared: Prepared): prepared is Publication {
  return !("outcome" in prepared);
}

function publishedResult(published: Extract<Published, { sequence: number }>): PublishResult {
  const { eventId, sequence, messageId, expiresAtMs, outcome } = published;
  const expiresAt = expiresAtMs === null ? undefined : new Date(expiresAtMs);
  const value = { eventId, sequence, messageId, repeated: outcome === "repeated", expiresAt };
  return { outcome: { $case: "published", value } };
}

function refusedResult(reason: PublishRefusal, field: string, message: string): PublishResult {
  return { outcome: { $case: "refused", value: { reason, field, message } } };
}
