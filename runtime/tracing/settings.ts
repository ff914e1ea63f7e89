import type { Settings } from "../settings";

/** The tracing settings that this service reads itself. The OpenTelemetry SDK reads the other `OTEL_…` variables. */
export interface TracingConfig {
  readonly serviceName: string;
  /** Maximum number of ended spans that wait for export. Further spans are dropped. */
  readonly queueMax: number;
  /**
   * The fraction of parentless traces that are sampled, if the sampler is parentbased_traceidratio; otherwise
   * undefined.
   */
  readonly rootShare: number | undefined;
}

const SAMPLERS = [
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
  "always_on",
  "always_off",
  "traceidratio",
] as const;
const QUEUE_DEFAULT = 2_048;
const QUEUE_MAX = 65_536;

/**
 * Reads the standard `OTEL_…` variables. Returns undefined when tracing is off, which is the default.
 *
 * @param serviceName the default of `OTEL_SERVICE_NAME`
 */
export function readTracing(settings: Settings, serviceName: string): TracingConfig | undefined {
  const isDisabled = settings.choice("OTEL_SDK_DISABLED", ["true", "false"], "false") === "true";
  const exporter = settings.parsed(
    "OTEL_TRACES_EXPORTER",
    "`otlp` turns traces on, `none` turns them off; unset: an endpoint turns them on",
    parseExporter,
    " ",
  );
  const endpoints = [
    settings.parsed(
      "OTEL_EXPORTER_OTLP_ENDPOINT",
      "base URL of the collector, e.g. http://collector:4318; turns traces on",
      parseEndpoint,
      " ",
    ),
    settings.parsed(
      "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
      "URL to which spans are sent, instead of /v1/traces at the collector; turns traces on",
      parseEndpoint,
      " ",
    ),
  ];
  for (const name of ["OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"]) {
    settings.choice(name, ["http/protobuf"], "http/protobuf");
  }
  const sampler = settings.choice("OTEL_TRACES_SAMPLER", SAMPLERS, "parentbased_always_on");
  const share = settings.parsed(
    "OTEL_TRACES_SAMPLER_ARG",
    "share of the traces that a traceidratio sampler keeps, 0 to 1",
    parseShare,
    "1",
  );
  const config = {
    serviceName: settings.text("OTEL_SERVICE_NAME", "name of the process in traces", serviceName),
    queueMax: settings.integer(
      "OTEL_BSP_MAX_QUEUE_SIZE",
      "spans that can wait for export; further spans are dropped",
      { min: 1, max: QUEUE_MAX },
      QUEUE_DEFAULT,
    ),
    rootShare: sampler === "parentbased_traceidratio" ? share : undefined,
  };
  const isOn = exporter === "otlp" || (exporter === "" && endpoints.some((url) => url !== ""));
  return isOn && !isDisabled ? config : undefined;
}

function parseExporter(text: string): string {
  const exporter = text.trim();
  if (!["", "otlp", "none"].includes(exporter)) throw new Error("is neither otlp nor none");
  return exporter;
}

function parseEndpoint(text: string): string {
  const url = text.trim();
  if (url !== "" && (!URL.canParse(url) || !/^https?:\/\//i.test(url))) {
    throw new Error("is not an http or https URL");
  }
  return url;
}

function parseShare(text: string): number {
  const share = /^\d*\.?\d+$/.test(text) ? Number(text) : NaN;
  if (!(share >= 0 && share <= 1)) throw new Error("must be a number from 0 to 1");
  return share;
}
