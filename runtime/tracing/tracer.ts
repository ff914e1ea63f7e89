/**
 * Attributes of a span: ids, types, counts and results. Their names follow OpenTelemetry's semantic conventions where
 * possible. An attribute never contains a secret, a signature, a body, the text of a message, a member's name or a
 * whole URL.
 */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export type SpanKind = "server" | "client" | "producer" | "internal";

/** A sampled span that is in progress. */
export interface Span {
  /** The context of the span, as a W3C `traceparent`. The next step of the trace uses this context as its parent. */
  readonly traceparent: string;
  /**
   * Ends the span, and queues it for export. A span that is never ended is never exported.
   *
   * @param fault the type of the failure, a word of low cardinality; undefined when the step succeeded
   * @param links contexts of the events that the span handled, as `traceparent`s
   */
  end(attributes: SpanAttributes, fault?: string, links?: readonly string[]): void;
}

/** Starts spans. A process that does not trace has no tracer. */
export interface Tracer {
  /**
   * Starts a span. Returns undefined if the sampler rejects the trace; the later steps then do not create spans.
   *
   * @param parent the `traceparent` of the previous step; without a valid parent, the span starts a new trace
   */
  start(name: string, kind: SpanKind, parent?: string): Span | undefined;
}

/** Traces of a process. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Exports the spans that have ended, for up to 2 seconds. Never rejects. */
  close(): Promise<void>;
}
