import { DAY_SECONDS } from "./numbers";

interface ResultMeaning {
  /** `failed`: an attempt failed. `dropped`: the event was dropped without a further attempt. */
  readonly outcome: "success" | "failed" | "dropped";
  /** The text that the dashboard shows for the result. */
  readonly words: string;
  /** Whether core keeps a dropped event, so that it can be sent again. */
  readonly isKept?: boolean;
}

const failed = <Words extends string>(words: Words) => ({ outcome: "failed", words }) as const;
const dropped = <Words extends string>(words: Words, isKept = false) =>
  ({ outcome: "dropped", words, isKept }) as const;

/**
 * All results that a delivery can have. Logs, JSON and metrics use these names. The enum `DeliveryResult` in the
 * protos lists the same results.
 */
const RESULTS = {
  success: { outcome: "success", words: "Accepted" },
  dns: failed("Name not found"),
  "refused-address": failed("Address not public"),
  connect: failed("No connection"),
  tls: failed("TLS failed"),
  timeout: failed("Timed out"),
  status: failed("Rejected by bridge"),
  body: failed("Invalid response"),
  expired: dropped("Expired"),
  disconnected: dropped("Disconnected"),
  polls: dropped("Switched to polling"),
  overloaded: dropped("Overloaded", true),
  outage: dropped("Service outage", true),
} as const satisfies Readonly<Record<string, ResultMeaning>>;

/** The result of a delivery. */
export type DeliveryResult = keyof typeof RESULTS;
type ResultOf<Outcome> = {
  [Result in DeliveryResult]: (typeof RESULTS)[Result]["outcome"] extends Outcome ? Result : never;
}[DeliveryResult];
/** The reason why an attempt to push failed. */
export type Failure = ResultOf<"failed">;
/** The reason why an event was dropped without a further attempt. */
export type DropReason = ResultOf<"dropped">;
export type DeliveryOutcome = ResultMeaning["outcome"];

export const RESULT_MEANINGS: Readonly<Record<DeliveryResult, ResultMeaning>> = RESULTS;
export const DELIVERY_RESULTS = Object.keys(RESULTS) as readonly DeliveryResult[];
export const FAILURES = DELIVERY_RESULTS.filter(
  (result): result is Failure => RESULTS[result].outcome === "failed",
);
export const DROP_REASONS = DELIVERY_RESULTS.filter(
  (result): result is DropReason => RESULTS[result].outcome === "dropped",
);

/** The steps of an attempt to push, in order. */
export const ATTEMPT_STEPS = ["name", "address", "connect", "tls", "send", "status"] as const;
export type AttemptStep = (typeof ATTEMPT_STEPS)[number];

/** Maximum number of attempts and drops in a workspace's delivery log. */
export const PUSHES_LOGGED_MAX = 1_000;
/**
 * Maximum number of attempts to push test events in a workspace's delivery log, so that they displace few other
 * entries.
 */
export const TESTS_LOGGED_MAX = 20;
/** Maximum number of entries for polls in a workspace's delivery log. */
export const POLLS_LOGGED_MAX = 500;
/** Seconds for which the delivery log keeps an entry. */
export const LOGGED_SECONDS = 7 * DAY_SECONDS;

/** Seconds for which core keeps an event whose push failed, so that the event can be sent again. */
export const FAILED_SECONDS = DAY_SECONDS;
/**
 * Maximum number of failed events that core keeps for a workspace. Core removes the oldest failures first. One request
 * can send all failed events of a workspace again.
 */
export const FAILED_MAX = 100;
/** Maximum total size in bytes of a workspace's failed events, in the format of the push queue. */
export const FAILED_MAX_BYTES = 1024 * 1024;
/** Maximum total size in bytes of all failed events in a shard. Core removes the oldest failures first. */
export const FAILED_SHARD_MAX_BYTES = 64 * 1024 * 1024;

/** Seconds for which core keeps the start of a bridge's response body after a failed attempt. */
export const RESPONSE_SECONDS = DAY_SECONDS;
/** Maximum number of responses that core keeps for a workspace. Core removes the oldest responses first. */
export const RESPONSES_MAX = 100;
/** Maximum bytes that core keeps of one response's body. */
export const RESPONSE_MAX_BYTES = 1024;

/** Maximum number of stored events that are shown with one log entry. */
export const SHOWN_EVENTS_MAX = 100;
/** Maximum total size in bytes of the stored events that are shown with one log entry. */
export const SHOWN_EVENTS_MAX_BYTES = 1024 * 1024;

/** All places where an event can be. The enum `EventPlace` in the protos lists the same places. */
export const EVENT_PLACES = ["held", "fetched", "queued", "delivered", "failed", "dropped"] as const;
export type EventPlace = (typeof EVENT_PLACES)[number];

/** Maximum number of characters in the text of an event's summary. */
export const SUMMARY_MAX_CHARACTERS = 80;
/**
 * Maximum number of records of events that were sent again, per workspace. Core keeps them for as long as the delivery
 * log.
 */
export const SENT_AGAIN_MAX = 300;

/**
 * All possible results of a request to send an event again. The enum `SendAgainOutcome` in the protos lists the same
 * results.
 */
export const SEND_AGAIN_RESULTS = ["queued", "expired", "not-kept", "overloaded"] as const;
export type SendAgainResult = (typeof SEND_AGAIN_RESULTS)[number];
