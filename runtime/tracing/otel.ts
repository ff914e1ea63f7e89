import {
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind as OtelSpanKind,
  SpanStatusCode,
  trace,
  type Span as OtelSpan,
  type SpanContext,
} from "@opentelemetry/api";
import { parseTraceParent, setGlobalErrorHandler } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
} from "@opentelemetry/sdk-trace-base";
import type { Logger } from "pino";
import { oncePerMinute } from "../outage-log";
import { BUILD } from "../version";
import type { TracingConfig } from "./settings";
import type { Span, SpanKind, Tracer, Tracing } from "./tracer";

/** Bounds of one span. */
const SPAN_LIMITS = {
  attributeCountLimit: 32,
  attributeValueLengthLimit: 256,
  eventCountLimit: 0,
  linkCountLimit: 100,
} as const;
/** Milliseconds for which a stopping process waits for the last export. */
const FLUSH_WITHIN_MS = 2_000;

const KINDS: Readonly<Record<SpanKind, OtelSpanKind>> = {
  server: OtelSpanKind.SERVER,
  client: OtelSpanKind.CLIENT,
  producer: OtelSpanKind.PRODUCER,
  internal: OtelSpanKind.INTERNAL,
};

/**
 * Creates the tracer of the process with the OpenTelemetry SDK. The SDK itself reads the settings of the sampler and of
 * the exporter.
 */
export function createTracing({ serviceName, queueMax, rootShare }: TracingConfig, log: Logger): Tracing {
  setGlobalErrorHandler(faultLogger(log));
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": serviceName, "service.version": BUILD.version }))
      // OTEL_RESOURCE_ATTRIBUTES can also set the service's name.
      .merge(detectResources({ detectors: [envDetector] })),
    spanLimits: SPAN_LIMITS,
    // `start` itself samples the traces without a parent, because the SDK needs several microseconds even for a dropped
    // span.
    ...(rootShare !== undefined && { sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }) }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter(), { maxQueueSize: queueMax })],
  });
  const otel = provider.getTracer("chat-bridge");
  const tracer: Tracer = {
    start(name, kind, parent) {
      const context = parent === undefined ? undefined : parse(parent);
      if (context === undefined && rootShare !== undefined && Math.random() >= rootShare) return undefined;
      const above = context === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, context);
      const span = otel.startSpan(name, { kind: KINDS[kind] }, above);
      return span.isRecording() ? toSpan(span) : undefined;
    },
  };
  return {
    tracer,
    async close() {
      const late = new Promise<void>((resolve) => {
        setTimeout(resolve, FLUSH_WITHIN_MS).unref();
      });
      // The rejection is ignored, because the error handler logs a failed export.
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
    },
  };
}

function toSpan(span: OtelSpan): Span {
  const { traceId, spanId } = span.spanContext();
  return {
    traceparent: `00-${traceId}-${spanId}-01`,
    end(attributes, fault, links = []) {
      span.setAttributes(attributes);
      if (fault !== undefined) {
        span.setAttribute("error.type", fault).setStatus({ code: SpanStatusCode.ERROR });
      }
      span.addLinks(links.flatMap((link) => parse(link) ?? []).map((context) => ({ context })));
      span.end();
    },
  };
}

/** Returns the context in a `traceparent`; undefined when the `traceparent` is not valid. */
function parse(traceparent: string): SpanContext | undefined {
  const context = parseTraceParent(traceparent);
  return context && isSpanContextValid(context) ? { ...context, isRemote: true } : undefined;
}

/**
 * Returns a handler that logs the first fault of each minute. An error of the exporter can contain the collector's
 * response, so only the error's code is logged.
 */
function faultLogger(log: Logger): (error: unknown) => void {
  const isFirst = oncePerMinute();
  return (error) => {
    if (!isFirst("")) return;
    const { code, name } = error as { code?: unknown; name?: unknown };
    const reason = String(code ?? name);
    log.warn(
      { reason },
      "spans could not be exported and were dropped; check the collector and OTEL_EXPORTER_OTLP_ENDPOINT",
    );
  };
}
