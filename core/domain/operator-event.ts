import { DAY_SECONDS, FAILING_AFTER_MS } from "../../contract/numbers";
import type { Workspace } from "./workspace";

/** Maximum number of undelivered operator events of a shard. The oldest events are dropped first. */
export const OPERATOR_EVENTS_MAX = 5_000;
/**
 * Maximum number of undelivered operator events about one workspace, so that a workspace whose address is unreachable
 * does not displace the events about other workspaces. The oldest events are dropped first.
 */
export const OPERATOR_EVENTS_WORKSPACE_MAX = 100;
/** Seconds for which core tries to deliver an operator event. */
export const OPERATOR_EVENT_SECONDS = DAY_SECONDS;
/** Minimum milliseconds between two operator events of one type about one workspace. */
export const OPERATOR_EVENT_EVERY_MS = FAILING_AFTER_MS;
/** Milliseconds from the first failed attempt to `workspace.failing`, if no attempt is accepted in between. */
export const PUSH_FAILING_AFTER_MS = 60_000;

/** The types of the operator events that core creates when a state changes. */
export const OPERATOR_EVENT_TYPES = [
  "workspace.failing",
  "workspace.recovered",
  "event.retries_exhausted",
  "workspace.events_refused",
  "event.dead_lettered",
] as const;

/** A change in the delivery of a workspace's events. Times are in ms since the epoch. */
export interface OperatorChange {
  /** Identifies the change. All deliveries of the event have this id. */
  readonly id: string;
  readonly type: (typeof OPERATOR_EVENT_TYPES)[number];
  readonly atMs: number;
  readonly workspaceId: string;
  /** Undefined for `event.dead_lettered`. */
  readonly mode: "poll" | "push" | undefined;
  /** For `event.dead_lettered`, the reason that the game gave. */
  readonly reason: string | undefined;
  /** The HTTP status of the last failed attempt; undefined if the bridge did not answer. */
  readonly status: number | undefined;
  /**
   * The time at which the outage began. For pushes, this is the time of the first failed attempt after the last
   * accepted attempt.
   */
  readonly sinceMs: number;
  /** For a poll workspace that fails, the time at which the oldest waiting event was published. */
  readonly oldestWaitingAtMs: number | undefined;
  /** For `event.retries_exhausted`, the event whose last attempt has failed. */
  readonly event: ExhaustedEvent | undefined;
  /** For `event.dead_lettered`, the group that gave up an event, and the number of the event's last attempt. */
  readonly deadLetter?: { readonly group: string; readonly attempt: number } | undefined;
}

export interface ExhaustedEvent {
  readonly id: string;
  readonly type: string;
  readonly attempts: number;
  /** The number of events whose last attempt has failed since the previous report, including this event. */
  readonly count: number;
}

/** An operator event as its receivers get it (docs/operator-events.md). */
export interface OperatorEvent {
  readonly id: string;
  /** The workspace of the event; empty for a test of the addresses of the whole installation. */
  readonly workspaceId: string;
  /** The event as JSON: the body of the request. */
  readonly json: string;
  readonly subject: string;
}

const time = (ms: number): string => new Date(ms).toISOString();

/** Returns the event that reports a change in the delivery of a workspace's events to the receivers. */
export function renderOperatorEvent(
  change: OperatorChange,
  { name }: Pick<Workspace, "name">,
): OperatorEvent {
  const { id, type, atMs, workspaceId, mode, reason, status, sinceMs, oldestWaitingAtMs, event, deadLetter } =
    change;
  const body = {
    id,
    type,
    time: time(atMs),
    workspace: { id: workspaceId, name },
    mode,
    reason,
    status,
    // A dead letter is not an outage, so its only time is `time`.
    since: deadLetter === undefined ? time(sinceMs) : undefined,
    oldestWaitingAt: oldestWaitingAtMs === undefined ? undefined : time(oldestWaitingAtMs),
    event,
    ...deadLetter,
  };
  return { id, workspaceId, json: JSON.stringify(body), subject: `${SUBJECTS[type]}: ${name}` };
}

const SUBJECTS: Readonly<Record<OperatorChange["type"], string>> = {
  "workspace.failing": "Failing",
  "workspace.recovered": "Recovered",
  "event.retries_exhausted": "Retries exhausted",
  "workspace.events_refused": "Events refused",
  "event.dead_lettered": "Event given up by a game",
};

/** Returns an event that tests an address. `workspace` is undefined for the addresses of the whole installation. */
export function renderOperatorTest(
  id: string,
  nowMs: number,
  workspace: Pick<Workspace, "id" | "name"> | undefined,
): OperatorEvent {
  const named = workspace && { id: workspace.id, name: workspace.name };
  return {
    id,
    workspaceId: workspace?.id ?? "",
    json: JSON.stringify({ id, type: "test", time: time(nowMs), workspace: named }),
    subject: `Test of operator events${workspace === undefined ? "" : `: ${workspace.name}`}`,
  };
}
