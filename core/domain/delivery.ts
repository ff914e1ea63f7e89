/** How an attempt to push failed: the step that it did not get past. */
export const FAILURES = ["dns", "refused-address", "connect", "tls", "timeout", "status", "body"] as const;
export type Failure = (typeof FAILURES)[number];

/** Why an event was given up without a (further) attempt. */
export const DROP_REASONS = ["expired", "disconnected", "polls", "overloaded"] as const;
export type DropReason = (typeof DROP_REASONS)[number];

/** What came of one attempt. Times are ms. */
export type PushOutcome = {
  /** The status of the answer, where there was one. */
  readonly status: number | undefined;
  readonly latencyMs: number;
  /** The address that was gone to, where it got that far. */
  readonly address: string | undefined;
} & (
  | { readonly ok: true }
  /** `detail` says what happened in words for the owner. */
  | { readonly ok: false; readonly failure: Failure; readonly detail: string }
);

/** One line of a workspace's delivery log: an attempt, a drop, or a poll. */
export interface Delivery {
  readonly eventId: string;
  readonly eventType: string;
  /** From 1; 0 for a drop before any attempt, and for a poll. */
  readonly attempt: number;
  readonly result: "success" | Failure | DropReason;
  readonly status: number | undefined;
  readonly latencyMs: number;
  readonly address: string | undefined;
}

/** Polls that are one line of the log: one that brought events, or a run of polls that brought none. */
export interface LoggedPolls {
  /** How many polls. */
  readonly polls: number;
  /** When the last of them came. */
  readonly lastAtMs: number;
  /** How many events they brought. */
  readonly events: number;
}

/** A logged delivery. */
export interface LoggedDelivery extends Delivery {
  /** Continues the list after it. */
  readonly id: string;
  /** Of polls, when the first came. */
  readonly atMs: number;
  /** Of polls. */
  readonly polled?: LoggedPolls;
}

/** Compares lines of a log by their ids, "<ms>-<number>": the newer one comes first. */
export function newestFirst(a: Pick<LoggedDelivery, "id">, b: Pick<LoggedDelivery, "id">): number {
  const [aMs = 0, aNumber = 0] = a.id.split("-").map(Number);
  const [bMs = 0, bNumber = 0] = b.id.split("-").map(Number);
  return bMs - aMs || bNumber - aNumber;
}

/** Whether a line of the log stands for polls; the others are attempts and drops. */
export function isPoll({ eventType }: Pick<Delivery, "eventType">): boolean {
  return eventType === "poll";
}

/** The log line of an attempt. */
export function deliveryOf(
  eventId: string,
  eventType: string,
  attempt: number,
  outcome: PushOutcome,
): Delivery {
  const { status, latencyMs, address } = outcome;
  return {
    eventId,
    eventType,
    attempt,
    result: outcome.ok ? "success" : outcome.failure,
    status,
    latencyMs,
    address,
  };
}

/** The log line of an event that was given up after so many attempts. */
export function dropOf(eventId: string, eventType: string, attempts: number, reason: DropReason): Delivery {
  return {
    eventId,
    eventType,
    attempt: attempts,
    result: reason,
    status: undefined,
    latencyMs: 0,
    address: undefined,
  };
}
