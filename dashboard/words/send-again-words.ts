import { RESULT_MEANINGS, type SendAgainResult } from "../../contract/deliveries";
import { isPushRetried, type OutboundType } from "../../contract/messages";
import { LIVE_LIFETIME_MS, RETRY_OFFSETS_MS } from "../../contract/numbers";
import type { DeliveryShape, FailedEventShape, WorkspaceShape } from "../../proto/json/shapes";
import { countOf } from "./delivery-list";

const TEST_EVENT: OutboundType = "ping";

export const SENT_WORDS: Readonly<Record<SendAgainResult, string>> = {
  queued: "Queued",
  expired: "Expired: it was not sent.",
  "not-kept": "No longer kept: it was already sent again, or newer failed events have replaced it.",
  overloaded: "Not queued: too many events are already waiting. Try again later.",
};

/** Returns why events cannot be sent again from a workspace; undefined if they can. */
export function whyNotSent({
  connected,
  mode,
}: Pick<WorkspaceShape, "connected" | "mode">): string | undefined {
  if (!connected) return "The workspace is disconnected: connect it to send events again.";
  if (mode !== "push") return "The bridge polls: set a target URL to send events again.";
  return undefined;
}

/** Says why a failed event can usually be sent again only for a part of the 24 hours for which the service keeps it. */
export const EXPIRY_WORDS = `Most messages expire ${LIVE_LIFETIME_MS / 60_000} minutes after they were published.`;

export interface FailedSplit {
  /** Ids of the events that "Select all" selects, in the order of `events`. */
  readonly choosable: readonly string[];
  /** Says how many events "Select all" leaves out; undefined if it leaves out none. */
  readonly leftOut: string | undefined;
}

/**
 * Separates the failed events that "Select all" selects from the failed events that it leaves out. Test events are left
 * out, because a bridge shows nothing in the chat for a test event. A single test event can still be sent again.
 */
export function splitFailed(
  events: readonly Pick<FailedEventShape, "eventId" | "eventType">[],
  sendable: ReadonlySet<string>,
): FailedSplit {
  const live = events.filter(({ eventId }) => sendable.has(eventId));
  const choosable = live.filter(({ eventType }) => eventType !== TEST_EVENT).map(({ eventId }) => eventId);
  const expired = events.length - live.length;
  const tests = live.length - choosable.length;
  const counts = [
    ...(expired > 0 ? [countOf(expired, "expired event")] : []),
    ...(tests > 0 ? [countOf(tests, "test event")] : []),
  ];
  if (counts.length === 0) return { choosable, leftOut: undefined };
  const why = expired > 0 ? ` ${EXPIRY_WORDS}` : "";
  return { choosable, leftOut: `Left out: ${counts.join(" and ")}.${why}` };
}

/** Returns the number of an attempt with its noun: "attempt 1 of 3". */
export function attemptWords(delivery: Attempt): string {
  return delivery.attempt === 0 ? "no attempt" : `attempt ${attemptNumber(delivery)}`;
}

/** Returns the number of an attempt: "1 of 3", or "1" if the maximum is not known. */
export function attemptNumber(delivery: Attempt): string {
  const attempts = attemptsOf(delivery);
  return attempts === undefined ? `${delivery.attempt}` : `${delivery.attempt} of ${attempts}`;
}

type Attempt = Pick<DeliveryShape, "eventType" | "attempt">;

/**
 * Returns the maximum number of attempts of an event; undefined if this is not known. Whether a failed update is
 * retried depends on its message, which the log does not contain.
 */
export function attemptsOf({ eventType, attempt }: Attempt): number | undefined {
  const isRetried = attempt > 1 || (attempt > 0 && isPushRetried({ type: eventType as OutboundType }));
  return isRetried ? 1 + RETRY_OFFSETS_MS.length : undefined;
}

/** Says why the details of a log entry show no events. */
export function whyNoEvents(delivery: DeliveryShape): string {
  const { polls, result } = delivery;
  if (polls > 0) return "The events of this poll are no longer held.";
  if (result === "success") return "The service does not keep events that the bridge has accepted.";
  const { outcome, words, isKept } = RESULT_MEANINGS[result];
  if (outcome === "dropped" && !isKept) {
    return `The service does not keep events that were dropped for this reason: ${words.toLowerCase()}.`;
  }
  return "The event is not kept. The service keeps an event for 24 hours after its last attempt has failed, and at most 100 such events.";
}
