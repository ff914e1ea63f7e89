import type { Metrics, Read } from "../../runtime/metrics";
import type { Backlog, GroupBacklog, ShardBacklog } from "../ports/backlog";
import type { Clock } from "../ports/outside";

interface BacklogSources {
  readonly now: Clock;
  readonly backlog: Backlog;
  /** The number of shards of the service. */
  readonly shards: number;
  /**
   * The shards that this core holds. Each shard is held by one core, so all cores together report each shard
   * once.
   */
  heldShards(): readonly number[];
}

/** Maximum number of groups that have their own label in the metrics. All further groups share `OTHER_GROUPS`. */
export const GROUP_LABELS_MAX = 20;
export const OTHER_GROUPS = "(others)";
const MS_PER_SECOND = 1_000;

/**
 * Adds metrics of the backlogs. The backlogs are read from the store once per scrape. If the read fails, the
 * metrics have no value.
 */
export function addBacklogMetrics({ gauge, beforeReading }: Metrics) {
  let sources: BacklogSources | undefined;
  let found: readonly ShardBacklog[] | undefined;
  beforeReading(async () => {
    found = undefined;
    const { backlog, heldShards } = sources ?? {};
    const held = heldShards?.() ?? [];
    // During a longer outage of the store, this core holds no shards, and the backlog is unknown, not 0.
    if (backlog !== undefined && held.length > 0) {
      found = await Promise.all(held.map((shard) => backlog.read(shard)));
    }
  });

  function ageOf(times: readonly (number | undefined)[]): number {
    const nowMs = sources?.now() ?? 0;
    return Math.max(0, ...times.map((time) => nowMs - (time ?? nowMs))) / MS_PER_SECOND;
  }
  const total = (of: (backlog: ShardBacklog) => number): Read => {
    return () => found?.reduce((sum, each) => sum + of(each), 0);
  };
  const ofGroups = (of: (backlogs: readonly GroupBacklog[]) => number): Read => {
    return () =>
      found && [...byGroup(found)].map(([group, each]) => ({ labels: { group }, value: of(each) }));
  };

  gauge("chatbridge_core_shards_held", "Shards that this core works on.", () => sources?.heldShards().length);
  gauge("chatbridge_core_shards", "Shards of the service.", () => sources?.shards);
  gauge(
    "chatbridge_core_push_queue_length",
    "Events in the push queues of the held shards.",
    total(({ pushes }) => pushes),
  );
  gauge(
    "chatbridge_core_push_queue_bytes",
    "Bytes of the events in the push queues of the held shards.",
    total(({ pushBytes }) => pushBytes),
  );
  gauge(
    "chatbridge_core_push_oldest_seconds",
    "Age of the oldest event in the push queues of the held shards; 0 when all are empty.",
    () => found && ageOf(found.map(({ oldestPushAtMs }) => oldestPushAtMs)),
  );
  gauge(
    "chatbridge_core_mail_outbox_length",
    "Emails in the outboxes of the held shards.",
    total(({ mails }) => mails),
  );
  gauge(
    "chatbridge_core_operator_outbox_length",
    "Operator events in the outboxes of the held shards.",
    total(({ operatorEvents }) => operatorEvents),
  );
  gauge(
    "chatbridge_core_inbound_log_length",
    "Events in the inbound logs of the held shards.",
    total(({ inboundEvents }) => inboundEvents),
  );
  gauge(
    "chatbridge_core_follow_unread",
    "Inbound events in the held shards that the group has not read.",
    ofGroups((each) => each.reduce((sum, { unread }) => sum + unread, 0)),
  );
  gauge(
    "chatbridge_core_follow_unacked",
    "Inbound events in the held shards that the group has read and not acked, including parked events.",
    ofGroups((each) => each.reduce((sum, { unacked }) => sum + unacked, 0)),
  );
  gauge(
    "chatbridge_core_follow_oldest_seconds",
    "Lag: age of the group's oldest inbound event in the held shards that is not acked; 0 if there is none.",
    ofGroups((each) => ageOf(each.map(({ oldestAtMs }) => oldestAtMs))),
  );
  return { begin: (given: BacklogSources) => void (sources = given) };
}

function byGroup(backlogs: readonly ShardBacklog[]): Map<string, GroupBacklog[]> {
  const groups = new Map<string, GroupBacklog[]>();
  for (const backlog of backlogs.flatMap((each) => each.groups)) {
    const isNew = !groups.has(backlog.group);
    const label = isNew && groups.size >= GROUP_LABELS_MAX ? OTHER_GROUPS : backlog.group;
    const same = groups.get(label);
    if (same === undefined) groups.set(label, [backlog]);
    else same.push(backlog);
  }
  return groups;
}
