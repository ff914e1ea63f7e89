import type { LogEntry } from "../ports/follow-log";
import type { Span, Tracer } from "../../runtime/tracing/tracer";

/** Maximum number of open spans of one stream. When there are more, the oldest ends before its ack. */
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
    /** Starts the span of a delivery. Returns its context; undefined when the event is not traced. */
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
