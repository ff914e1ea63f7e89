import { byLabel, countsOf, createMetrics, type Metrics } from "../../runtime/metrics";
import type { InboundDropped } from "../ports/inbound-log";
import { createTally, type Tally } from "../rpc/tally";
import { addBacklogMetrics, type BacklogMetrics } from "./backlog-metrics";
import { addPushMetrics, type PushMetrics } from "./push-metrics";
import { addStoreMetrics, type StoreMetrics } from "./store-metrics";

/** Why a mail leaves the outbox unsent. */
type MailDropReason = "full" | "refused";

/** The metrics of a core, and what counts for them. */
export interface CoreMetrics extends Pick<Metrics, "contentType" | "text"> {
  readonly tally: Tally;
  readonly store: StoreMetrics;
  readonly push: PushMetrics;
  readonly backlog: BacklogMetrics;
  countInboundDropped(dropped: InboundDropped): void;
  countOutage(): void;
  countMailFault(): void;
  countMailsDropped(reason: MailDropReason, count: number): void;
}

/** Each metric, with these words, stands in docs/metrics.md. */
export function createCoreMetrics(): CoreMetrics {
  const metrics = createMetrics();
  const { counter } = metrics;
  const inboundDropped = countsOf<InboundDropped["reason"]>(["size", "age"]);
  let outages = 0;
  let mailFaults = 0;
  const mailsDropped = countsOf<MailDropReason>(["full", "refused"]);
  counter(
    "chatbridge_core_inbound_dropped_total",
    "Inbound events that left the log before every group had acked them, by why.",
    () => byLabel("reason", inboundDropped),
  );
  counter("chatbridge_core_outages_total", "Polling bridges that were found to have stopped.", () => outages);
  counter("chatbridge_core_mail_faults_total", "Attempts to send a mail that failed.", () => mailFaults);
  counter("chatbridge_core_mails_dropped_total", "Mails that left the outbox unsent, by why.", () =>
    byLabel("reason", mailsDropped),
  );
  return {
    contentType: metrics.contentType,
    text: metrics.text,
    tally: addTally(metrics),
    store: addStoreMetrics(metrics),
    push: addPushMetrics(metrics),
    backlog: addBacklogMetrics(metrics),
    countInboundDropped: ({ reason, count }) => void (inboundDropped[reason] += count),
    countOutage: () => void (outages += 1),
    countMailFault: () => void (mailFaults += 1),
    countMailsDropped: (reason, count) => void (mailsDropped[reason] += count),
  };
}

function addTally({ counter, gauge }: Metrics): Tally {
  const tally = createTally();
  const answers = (call: string, counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([answer, value]) => ({ labels: { call, answer }, value }));
  counter("chatbridge_core_answers_total", "Answers to the requests of bridges.", () => [
    ...answers("receive", tally.receives),
    ...answers("poll", tally.polls),
  ]);
  gauge("chatbridge_core_lanes", "Streams that edges have open.", () => tally.lanes.open);
  gauge("chatbridge_core_lane_calls", "Calls of edges that are under way.", () => tally.lanes.calls);
  gauge("chatbridge_core_lane_bytes", "Bytes of the bodies of these calls.", () => tally.lanes.bytes);
  gauge(
    "chatbridge_core_lane_answer_bytes",
    "Bytes of answers that edges have not taken yet.",
    () => tally.lanes.answerBytes,
  );
  gauge(
    "chatbridge_core_publishing_bytes",
    "Bytes of the requests of games to publish that are under way.",
    () => tally.publishing.bytes,
  );
  counter("chatbridge_core_published_total", "Events that games published, by what became of them.", () =>
    byLabel("outcome", tally.published),
  );
  gauge("chatbridge_core_follow_streams", "Streams on which games follow.", () => tally.followers.size);
  gauge("chatbridge_core_follow_in_flight", "Events that were sent on these streams and not acked yet.", () =>
    [...tally.followers].reduce((sum, { inFlight }) => sum + inFlight, 0),
  );
  counter(
    "chatbridge_core_follow_deliveries_total",
    "Events sent to games: for the first time, or again.",
    () => byLabel("attempt", tally.delivered),
  );
  return tally;
}
