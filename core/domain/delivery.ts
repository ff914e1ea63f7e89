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

/** A logged delivery. */
export interface LoggedDelivery extends Delivery {
  /** Continues the list after it. */
  readonly id: string;
  readonly atMs: number;
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
