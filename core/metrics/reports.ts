import type { Logger } from "pino";
import { oncePerMinute } from "../../runtime/outage-log";
import type { DropReason } from "../../contract/deliveries";
import type { DeadLetter } from "../ports/follow-log";
import type { InboundDropped } from "../ports/inbound-log";
import type { UnreadableSecrets } from "../ports/meters";
import type { OperatorEventDrop, StoredOperatorEvent } from "../ports/operator-outbox";
import type { Publication } from "../ports/outbound-events";
import type { OperatorReceiver, OperatorSent } from "../ports/outside";
import type { QueuedPush } from "../ports/push-queue";
import { GROUP_LABELS_MAX, OTHER_GROUPS } from "./backlog-metrics";
import type { CoreMetrics } from "./core-metrics";

// The functions in this file count and log incidents and changes for operators.

type Counters = Pick<CoreMetrics, "counts" | "push">;
type Dropped = Pick<QueuedPush, "workspaceId" | "eventId" | "eventType">;

/** Minimum milliseconds between two log lines about dropped inbound events. */
const SAME_DROP_EVERY_MS = 10_000;

function reportDrop(
  { push }: Counters,
  log: Logger,
  { workspaceId, eventId, eventType }: Dropped,
  reason: DropReason | "failed",
): void {
  push.countDrop(reason);
  log.warn({ workspaceId, eventId, eventType, reason }, "a push was dropped");
}

export function storeReports(counters: Counters, log: Logger) {
  /** Number of dropped inbound events that are not logged yet. */
  let untold = 0;
  let toldAt = -Infinity;
  return {
    /** Logs the first drop immediately. Then logs the total of later drops, at most once per `SAME_DROP_EVERY_MS`. */
    onDropped({ count, reason, group }: InboundDropped): void {
      counters.counts.inboundDropped[reason] += count;
      untold += count;
      if (performance.now() - toldAt < SAME_DROP_EVERY_MS) return;
      log.warn(
        { count: untold, reason, group },
        "inbound events were dropped before every group had acked them",
      );
      untold = 0;
      toldAt = performance.now();
    },
    onOverloaded: ({ workspaceId, eventId, type }: Publication) =>
      reportDrop(counters, log, { workspaceId, eventId, eventType: type }, "overloaded"),
    onOverbooking: (advice: string) => log.warn({}, advice),
    onAdvice: ({ level, server, advice }: { level: "warn" | "info"; server: string; advice: string }) =>
      log[level]({ server }, `Redis may lose data: ${advice}`),
    onMigrated: (unserved: number) =>
      log[unserved > 0 ? "error" : "info"](
        { unserved },
        "this is the first start after a migration of the stored data; `unserved` is the number of events that the migration could not convert",
      ),
  };
}

export function shardReports(counters: Counters, log: Logger) {
  const { counts } = counters;
  return {
    onDrop: (push: Dropped, reason: DropReason | "failed") => reportDrop(counters, log, push, reason),
    onFailing(workspaceId: string) {
      counts.outages += 1;
      log.warn({ workspaceId }, "a bridge has stopped polling while events wait");
    },
    onMailFault(workspaceId: string, error: unknown) {
      counts.mailFaults += 1;
      log.warn({ workspaceId, code: errorCode(error) }, "an email could not be sent; core will retry");
    },
    onMailRefused(workspaceId: string, error: unknown) {
      counts.mailFaults += 1;
      counts.mailsDropped.refused += 1;
      log.error(
        { workspaceId, code: errorCode(error) },
        "the mail server rejected an email permanently, so core dropped the email; check the owner's address",
      );
    },
    onMailsDropped(count: number) {
      counts.mailsDropped.full += count;
      log.error({ count }, "the outbox is full: emails about outages were dropped; check the mail server");
    },
    onGroupRemoved: (group: string) =>
      log.info({ group }, "a group was removed, because it has had no Follow stream for 24 hours"),
    onOperatorEventSent(
      { id, type, workspaceId }: StoredOperatorEvent,
      { key, kind }: OperatorReceiver,
      { became, detail }: OperatorSent,
    ) {
      counts.operatorEvents[became] += 1;
      const receiver = key === workspaceId ? `workspace-${kind}` : key;
      const facts = { id, type, workspaceId, receiver };
      if (became === "accepted") log.info(facts, "an operator event was delivered");
      else if (became === "failed") {
        log.warn({ ...facts, detail }, "an operator event could not be delivered; core will retry");
      } else {
        log.error(
          { ...facts, detail },
          "an operator event was rejected permanently, so core dropped the event; check the address",
        );
      }
    },
    onOperatorEventsDropped(count: number, reason: OperatorEventDrop) {
      counts.operatorEventsDropped[reason] += count;
      log.error({ count, reason }, "undelivered operator events were dropped; check their receivers");
    },
  };
}

export function callReports({ callCounts: { deadLetters } }: Pick<CoreMetrics, "callCounts">, log: Logger) {
  return {
    onDeadLetter(group: string, deliveryId: string, { workspaceId, attempt, reason }: DeadLetter): void {
      const isNew = !deadLetters.has(group);
      const label = isNew && deadLetters.size >= GROUP_LABELS_MAX ? OTHER_GROUPS : group;
      deadLetters.set(label, (deadLetters.get(label) ?? 0) + 1);
      log.warn({ workspaceId, group, deliveryId, attempt, reason }, "a game gave up an event");
    },
    // The message contains the change, so that many lines about one kind of change do not suppress lines about other
    // kinds.
    onChanged: (workspaceId: string, { by, change }: { by: string; change: string }) =>
      log.info({ workspaceId, by, change }, `a workspace was changed: ${change}`),
    onDeleted: (workspaceId: string, by: string) => log.info({ workspaceId, by }, "a workspace was deleted"),
    onGroupDeleted: (group: string, by: string) => log.info({ group, by }, "a group was deleted"),
  };
}

/** Maximum number of workspaces whose last log line is remembered. */
const REMEMBERED_MAX = 1_000;

/** Logs the workspaces whose secrets core cannot decrypt, and stores the number of such workspaces for the metrics. */
export function unreadableReports({ counts }: Counters, log: Logger) {
  const isLogged = oncePerMinute(REMEMBERED_MAX);
  return {
    /** Logs a workspace that cannot be served now, at most once per minute. */
    onUnreadable(workspaceId: string, missingKey: string): void {
      if (!isLogged(workspaceId)) return;
      log.error(
        { workspaceId, missingKey },
        "the secret of a workspace is unreadable: add the missing key to SECRETS_KEY, or connect the workspace again",
      );
    },
    /** Logs the number of workspaces whenever the number changes, including when it becomes 0. */
    onCounted({ count, workspaceIds, keys }: UnreadableSecrets): void {
      const before = counts.unreadableSecrets ?? 0;
      counts.unreadableSecrets = count;
      if (count === before) return;
      if (count === 0) return log.info("the secrets of all workspaces are readable again");
      log.warn(
        { count, workspaceIds, missingKeys: keys },
        "the secrets of some workspaces are unreadable: add the missing keys to SECRETS_KEY, or connect the workspaces again; chat-bridge workspace keys lists them",
      );
    },
  };
}

function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
