import { byLabel, countsOf, createMetrics, type Metrics, type Sample } from "../../runtime/metrics";
import type { OperatorSent } from "../ports/outside";
import type { InboundDropped } from "../ports/inbound-log";
import type { OperatorEventDrop } from "../ports/operator-outbox";
import { createCallCounts, type CallCounts } from "../rpc/call-counts";
import { addBacklogMetrics } from "./backlog-metrics";
import { addDurabilityMetrics } from "./durability-watch";
import { addMemoryMetrics } from "./memory-watch";
import { addPushMetrics } from "./push-metrics";
import { addStoreMetrics } from "./store-metrics";
import { addWorkspaceMetrics } from "./workspace-metrics";

/**
 * Counts of the accepted tokens, and of the faults in the files of tokens and certificates, which core reads again when
 * they change.
 */
export interface RenewedFileCounts {
  readonly tokens: { count(role: "edge" | "game" | "operator"): number };
  faults(): number;
  expiries(): Iterable<Sample>;
}

export type CoreMetrics = ReturnType<typeof createCoreMetrics>;

/**
 * Creates the metrics of a core, and the counters behind them. docs/metrics.md lists each metric with its help text.
 */
export function createCoreMetrics(files: RenewedFileCounts) {
  const metrics = createMetrics();
  const { counter, gauge } = metrics;
  addFileMetrics(metrics, files);
  const counts = {
    inboundDropped: countsOf<InboundDropped["reason"]>(["size", "age"]),
    outages: 0,
    mailFaults: 0,
    mailsDropped: countsOf(["full", "refused"]),
    operatorEvents: countsOf<OperatorSent["became"]>(["accepted", "failed", "refused"]),
    operatorEventsDropped: countsOf<OperatorEventDrop>(["expired", "full"]),
    /** Undefined until the workspaces have been counted. */
    unreadableSecrets: undefined as number | undefined,
  };
  counter(
    "chatbridge_core_inbound_dropped_total",
    "Inbound events that left the log before every group had acked them, by reason.",
    () => byLabel("reason", counts.inboundDropped),
  );
  counter(
    "chatbridge_core_outages_total",
    "Number of times that a bridge stopped polling while events waited.",
    () => counts.outages,
  );
  counter("chatbridge_core_mail_faults_total", "Failed attempts to send an email.", () => counts.mailFaults);
  counter("chatbridge_core_mails_dropped_total", "Unsent emails that were dropped, by reason.", () =>
    byLabel("reason", counts.mailsDropped),
  );
  counter("chatbridge_core_operator_events_total", "Attempts to deliver an operator event, by outcome.", () =>
    byLabel("outcome", counts.operatorEvents),
  );
  counter(
    "chatbridge_core_operator_events_dropped_total",
    "Undelivered operator events that were dropped, by reason.",
    () => byLabel("reason", counts.operatorEventsDropped),
  );
  gauge(
    "chatbridge_core_unreadable_secrets",
    "Workspaces with secrets that core cannot decrypt, counted every ten minutes.",
    () => counts.unreadableSecrets,
  );
  return {
    contentType: metrics.contentType,
    text: metrics.text,
    callCounts: addCallCounts(metrics),
    store: addStoreMetrics(metrics),
    memory: addMemoryMetrics(metrics),
    durability: addDurabilityMetrics(metrics),
    push: addPushMetrics(metrics),
    backlog: addBacklogMetrics(metrics),
    workspaces: addWorkspaceMetrics(metrics),
    counts,
  };
}

function addFileMetrics({ gauge }: Metrics, { tokens, faults, expiries }: RenewedFileCounts): void {
  gauge(
    "chatbridge_core_certificate_expires_seconds",
    "Unix time at which the first certificate of a file expires.",
    expiries,
  );
  gauge("chatbridge_core_tokens", "Tokens that core accepts, by role.", () =>
    (["edge", "game", "operator"] as const).map((role) => ({ labels: { role }, value: tokens.count(role) })),
  );
  gauge(
    "chatbridge_core_unreadable_files",
    "Changed files of tokens or certificates that core could not read again.",
    faults,
  );
}

function addCallCounts({ counter, gauge }: Metrics): CallCounts {
  const callCounts = createCallCounts();
  const answers = (call: string, counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([answer, value]) => ({ labels: { call, answer }, value }));
  counter("chatbridge_core_answers_total", "Answers to requests from bridges.", () => [
    ...answers("receive", callCounts.receives),
    ...answers("poll", callCounts.polls),
  ]);
  gauge("chatbridge_core_lanes", "Open streams from edges.", () => callCounts.lanes.open);
  gauge("chatbridge_core_lane_calls", "Pending calls from edges.", () => callCounts.lanes.calls);
  gauge(
    "chatbridge_core_lane_bytes",
    "Bytes of the bodies of pending calls from edges.",
    () => callCounts.lanes.bytes,
  );
  gauge(
    "chatbridge_core_lane_answer_bytes",
    "Bytes of answers that edges have not received yet.",
    () => callCounts.lanes.answerBytes,
  );
  gauge(
    "chatbridge_core_publishing_bytes",
    "Bytes of the publish requests in progress.",
    () => callCounts.publishing.used,
  );
  counter("chatbridge_core_published_total", "Events that games published, by outcome.", () =>
    byLabel("outcome", callCounts.published),
  );
  gauge("chatbridge_core_follow_streams", "Open `Follow` streams of games.", () => callCounts.followers.size);
  gauge(
    "chatbridge_core_follow_in_flight",
    "Events that were sent over `Follow` streams and are not acked yet.",
    () => [...callCounts.followers].reduce((sum, { inFlight }) => sum + inFlight, 0),
  );
  counter(
    "chatbridge_core_follow_deliveries_total",
    "Events sent to games: first deliveries and redeliveries.",
    () => byLabel("attempt", callCounts.delivered),
  );
  counter("chatbridge_core_follow_dead_letters_total", "Events that games gave up, by group.", () =>
    [...callCounts.deadLetters].map(([group, value]) => ({ labels: { group }, value })),
  );
  return callCounts;
}
