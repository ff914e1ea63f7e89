import { DAY_SECONDS } from "./numbers";

interface ResultMeaning {
  /** `failed`: an attempt failed. `dropped`: the event was dropped without a further attempt. */
  readonly outcome: "success" | "failed" | "dropped";
  /** The text that the dashboard shows for the result. */
  readonly words: string;
}

const failed = <Words extends string>(words: Words) => ({ outcome: "failed", words }) as const;
const dropped = <Words extends string>(words: Words) => ({ outcome: "dropped", words }) as const;

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
  overloaded: dropped("Overloaded"),
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
/** Maximum number of entries for polls in a workspace's delivery log. */
export const POLLS_LOGGED_MAX = 500;
/** Seconds for which the delivery log keeps an entry. */
export const LOGGED_SECONDS = 7 * DAY_SECONDS;
