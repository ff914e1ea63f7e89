import type { Metadata } from "@grpc/grpc-js";
import type { Span, Tracer } from "../../runtime/tracing/tracer";
import { isSigned, type Refusal } from "../operations/refusal";
import type { LogEntry } from "../ports/follow-log";

/**
 * Ends core's span for a bridge's request. The span is dropped if the signature was not accepted, so that only bridges
 * with a secret can cause exports.
 */
export function endRequestSpan(
  span: Span,
  workspaceId: string,
  outcome: { readonly accepted: string } | { readonly body: Uint8Array } | Refusal,
): void {
  if ("refused" in outcome && !isSigned(outcome)) return;
  const result = "refused" in outcome ? outcome.refused : "accepted" in outcome ? outcome.accepted : "page";
  span.end({ "chatbridge.workspace.id": workspaceId, "chatbridge.result": result });
}

/** The spans of one `PublishEvents` call. */
export type PublishSpans = ReturnType<typeof startPublishSpans>;

/**
 * Starts the span of a `PublishEvents` call. The span continues the trace in the call's metadata `traceparent`. Each
 * `traceparent` that events set themselves gets its own span.
 */
export function startPublishSpans(tracer: Tracer, metadata: Metadata) {
  const [parent] = metadata.get("traceparent");
  const spans = new Map<string, { readonly span: Span | undefined; events: number }>();
  const start = (context: string | undefined) => ({
    span: tracer.start("PublishEvents", "server", context),
    events: 0,
  });
  const call = start(typeof parent === "string" ? parent : undefined);

  return {
    /**
     * Counts an event, and returns the trace context to store with the event; undefined when the event is not traced.
     */
    contextOf(traceparent: string): string | undefined {
      let own = traceparent === "" ? call : spans.get(traceparent);
      if (own === undefined) {
        own = start(traceparent);
        spans.set(traceparent, own);
      }
      own.events += 1;
      return own.span?.traceparent;
    },
    /** @param fault the type of the error with which the call failed */
    end(fault?: string): void {
      for (const { span, events } of [call, ...spans.values()]) {
        span?.end(
          {
            "rpc.system": "grpc",
            "rpc.service": "chatbridge.v1.GameService",
            "rpc.method": "PublishEvents",
            "messaging.batch.message_count": events,
          },
          fault,
        );
      }
    },
  };
}

/**
 * Maximum number of open spans of one stream. Above this number, core ends the oldest span although its event is not
 * acked yet.
 */
const OPEN_MAX = 100;

type Result = "acked" | "redelivered" | "not-acked" | "pending";

export type DeliverySpans = ReturnType<typeof createDeliverySpans>;

/** The spans of the deliveries of one `Follow` stream. A span lasts from the delivery of a traced event to its ack. */
export function createDeliverySpans(tracer: Tracer, group: string) {
  const open = new Map<string, { readonly span: Span; readonly entry: LogEntry }>();

  function end(deliveryId: string, result: Result): void {
    const delivery = open.get(deliveryId);
    if (delivery === undefined) return;
    open.delete(deliveryId);
    const { span, entry } = delivery;
    const attributes = {
      "messaging.system": "chatbridge",
      "messaging.operation.name": "deliver",
      "messaging.operation.type": "send",
      "messaging.consumer.group.name": group,
      "messaging.message.id": deliveryId,
      "chatbridge.workspace.id": entry.workspaceId,
      "chatbridge.attempt": entry.attempt,
      "chatbridge.result": result,
    };
    const isFault = result === "redelivered" || result === "not-acked";
    span.end(attributes, isFault ? result : undefined);
  }

  return {
    /** Starts the span of a delivery. Returns the trace context of the span; undefined when the event is not traced. */
    begin(deliveryId: string, entry: LogEntry): string | undefined {
      if (entry.traceparent === undefined) return undefined;
      end(deliveryId, "redelivered");
      const span = tracer.start("deliver", "producer", entry.traceparent);
      if (span === undefined) return undefined;
      const [oldest] = open.keys();
      if (open.size >= OPEN_MAX && oldest !== undefined) end(oldest, "pending");
      open.set(deliveryId, { span, entry });
      return span.traceparent;
    },
    acked(deliveryIds: readonly string[]): void {
      if (open.size > 0) for (const id of deliveryIds) end(id, "acked");
    },
    /** Ends the spans of all deliveries that were not acked. */
    close(): void {
      for (const id of open.keys()) end(id, "not-acked");
    },
  };
}
