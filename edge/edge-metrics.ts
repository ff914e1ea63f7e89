import type { onResponseHookHandler } from "fastify";
import { byLabel, createMetrics, SECONDS_BUCKETS, type Metrics } from "../runtime/metrics";
import type { RefusedConnections } from "../runtime/limit-connections";
import type { AddressShield } from "./public/address-shield";
import type { LaneLoad } from "./lane/lane-load";
import type { RefusalReports } from "./public/refusal-reports";
import type { UnsentPages } from "./public/unsent-pages";

/** The `endpoint` label of each route. Requests for all other paths have the label "none". */
const ENDPOINTS: ReadonlyMap<string | undefined, string> = new Map([
  ["/hooks/:workspaceId", "post"],
  ["/hooks/:workspaceId/events", "poll"],
]);
const NO_ENDPOINT = "none";
const MS_PER_SECOND = 1_000;

/** The parts of the edge that the metrics read. */
interface EdgeCounts {
  readonly load: Readonly<LaneLoad>;
  readonly shield: AddressShield;
  readonly unsent: Pick<UnsentPages, "bytes">;
  readonly refused: Readonly<RefusedConnections>;
  readonly refusals: Pick<RefusalReports, "unreported">;
  readonly credentials: { readonly faults: number };
}

/** Creates the metrics of the edge. docs/metrics.md lists each metric with its help text. */
export function createEdgeMetrics({ load, shield, unsent, refused, refusals, credentials }: EdgeCounts) {
  const { contentType, text, counter, gauge, histograms } = createMetrics();
  /** The number of answers, by endpoint, then by status. */
  const answers = new Map<string, Map<number, number>>();
  counter("chatbridge_edge_requests_total", "Answered requests, by endpoint and status.", () =>
    [...answers].flatMap(([endpoint, byStatus]) =>
      [...byStatus].map(([status, value]) => ({ labels: { endpoint, status: String(status) }, value })),
    ),
  );
  const durations = histograms(
    "chatbridge_edge_request_duration_seconds",
    "Seconds from a request's headers to the end of its answer, by endpoint.",
    SECONDS_BUCKETS,
    "endpoint",
    [...ENDPOINTS.values(), NO_ENDPOINT],
  );
  counter(
    "chatbridge_edge_shield_refusals_total",
    "Requests that the edge rejected without asking core, because their sender was over its limit.",
    () => shield.refusals,
  );
  counter(
    "chatbridge_edge_refusals_unreported_total",
    "Requests that the edge rejected without asking core, and that are missing on the pages of workspaces.",
    () => refusals.unreported,
  );
  addFileMetrics(gauge, credentials);
  gauge("chatbridge_edge_lanes", "Open streams to core.", () => load.open);
  counter(
    "chatbridge_edge_lanes_opened_total",
    "Streams to core opened so far, including the first.",
    () => load.opened,
  );
  gauge("chatbridge_edge_lane_calls", "Calls to core in progress.", () => load.calls);
  gauge("chatbridge_edge_lane_bytes", "Bytes of the calls to core in progress.", () => load.bytes);
  counter("chatbridge_edge_lane_failures_total", "Calls to core without an answer, by reason.", () =>
    byLabel("reason", load.failures),
  );

  gauge(
    "chatbridge_edge_unsent_page_bytes",
    "Bytes of pages that bridges have not received yet.",
    () => unsent.bytes,
  );

  counter(
    "chatbridge_edge_connections_refused_total",
    "Connections of bridges that the edge closed because a bound was reached, by bound.",
    () => byLabel("bound", refused),
  );

  function count(endpoint: string, status: number): void {
    const byStatus = answers.get(endpoint) ?? new Map<number, number>();
    answers.set(endpoint, byStatus);
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
  }

  /** Counts an answer, and records the duration of the request. */
  const onAnswered = (endpoint: string, status: number, elapsedMs: number): void => {
    count(endpoint, status);
    durations(endpoint).observe(elapsedMs / MS_PER_SECOND);
  };
  const onResponse: onResponseHookHandler = (request, reply, done) => {
    onAnswered(ENDPOINTS.get(request.routeOptions.url) ?? NO_ENDPOINT, reply.statusCode, reply.elapsedTime);
    done();
  };
  /** Counts the answer to a request that could not be parsed. */
  const onUnreadable = (status: number): void => count(NO_ENDPOINT, status);
  return { contentType, text, onAnswered, onResponse, onUnreadable };
}

function addFileMetrics(gauge: Metrics["gauge"], credentials: { readonly faults: number }): void {
  gauge(
    "chatbridge_edge_unreadable_files",
    "Changed files of tokens or certificates that the edge could not read again.",
    () => credentials.faults,
  );
}
