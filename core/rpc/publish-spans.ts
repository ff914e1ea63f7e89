import type { Metadata } from "@grpc/grpc-js";
import type { Span, Tracer } from "../../runtime/tracing/tracer";

/** The spans of one `PublishEvents` call. */
export type PublishSpans = ReturnType<typeof startPublishSpans>;

/**
 * Starts the span of a `PublishEvents` call. The span continues the trace in the call's metadata `traceparent`. For
 * events with another `traceparent`, there is one span for each of these contexts.
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
    /** Counts an event, and returns the context to store with the event; undefined when the event is not traced. */
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
