import type { DeliveryResult, DropReason, Failure } from "../../contract/deliveries";
import type { EventSummary } from "./event-summary";

/** The start of the body of a bridge's response. */
export interface ResponseStart {
  readonly bytes: Buffer;
  /** Whether the body was longer than `bytes`. */
  readonly isTruncated: boolean;
}

/** The outcome of one attempt. Times are in ms. */
export type PushOutcome = {
  /** The HTTP status of the answer; undefined when there was no answer. */
  readonly status: number | undefined;
  readonly latencyMs: number;
  /** The address to which core connected; undefined when there was no connection. */
  readonly address: string | undefined;
} & (
  | { readonly ok: true }
  /**
   * `detail` explains the failure to the owner of the workspace. `response` is present if the bridge answered with a
   * status other than 2xx and a body.
   */
  | {
      readonly ok: false;
      readonly failure: Failure;
      readonly detail: string;
      readonly response?: ResponseStart | undefined;
    }
);

/** The details of an event in the log of attempts and drops, by which people recognize the event. */
export interface LoggedEvent {
  readonly summary: EventSummary;
  /** The name of the token that published the event; empty when unknown. */
  readonly publisher: string;
  readonly expiresAtMs: number | null;
}

/** One entry of a workspace's delivery log: an attempt, a drop, or polls. */
export interface Delivery {
  readonly eventId: string;
  readonly eventType: string;
  /** The number of the attempt, from 1; 0 for a drop before any attempt, and for polls. */
  readonly attempt: number;
  readonly result: DeliveryResult;
  readonly status: number | undefined;
  readonly latencyMs: number;
  readonly address: string | undefined;
  /** Undefined for polls, and for an entry that an older release logged. */
  readonly event?: LoggedEvent | undefined;
}

/** The polls of one log entry: a single poll that returned events, or a run of polls that returned no events. */
export interface LoggedPolls {
  /** The number of polls. */
  readonly polls: number;
  /** The time of the last poll. */
  readonly lastAtMs: number;
  /** The number of events that the polls returned. */
  readonly events: number;
}

export interface LoggedDelivery extends Delivery {
  /** The id of the entry. A caller sends it to continue a list after this entry. */
  readonly id: string;
  /** The time of the entry, in ms since the epoch; for polls, the time of the first poll. */
  readonly atMs: number;
  /** Present for polls only. */
  readonly polled?: LoggedPolls;
}

/** Compares log entries by their ids, `<ms>-<number>`, so that a sort puts the newest entry first. */
export function newestFirst(a: Pick<LoggedDelivery, "id">, b: Pick<LoggedDelivery, "id">): number {
  const [aMs = 0, aNumber = 0] = a.id.split("-").map(Number);
  const [bMs = 0, bNumber = 0] = b.id.split("-").map(Number);
  return bMs - aMs || bNumber - aNumber;
}

/** Whether a log entry is for polls. All other entries are attempts and drops. */
export function isPoll({ eventType }: Pick<Delivery, "eventType">): boolean {
  return eventType === "poll";
}

/** Returns the log entry of an attempt, or of an event that was dropped after `attempt` attempts. */
export function deliveryOf(
  eventId: string,
  eventType: string,
  attempt: number,
  outcome: PushOutcome | DropReason,
  event: LoggedEvent,
): Delivery {
  const isDrop = typeof outcome === "string";
  // Each push needs a delivery. V8 takes 3 µs to create an object from a spread and further properties.
  return {
    eventId,
    eventType,
    attempt,
    result: isDrop ? outcome : outcome.ok ? "success" : outcome.failure,
    status: isDrop ? undefined : outcome.status,
    latencyMs: isDrop ? 0 : outcome.latencyMs,
    address: isDrop ? undefined : outcome.address,
    event,
  };
}
