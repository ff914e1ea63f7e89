import type { Logger } from "pino";
import type { TracingConfig } from "./settings";
import type { Tracing } from "./tracer";

/** Starts traces. Returns undefined when tracing is off. The OpenTelemetry SDK is loaded only when tracing is on. */
export async function startTracing(
  config: TracingConfig | undefined,
  log: Logger,
): Promise<Tracing | undefined> {
  if (config === undefined) return undefined;
  const { createTracing } = await import("./otel.js");
  return createTracing(config, log);
}
