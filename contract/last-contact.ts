import type { DeliveryResult } from "./deliveries";

/** The last poll by a bridge, and the last attempt to push to the bridge. Times are ISO 8601; null means never. */
interface Contacts {
  readonly lastPollAt: string | null;
  /** `status` is the HTTP status of the bridge's answer, or 0 if there was no answer. */
  readonly lastAttempt: {
    readonly at: string;
    readonly result: DeliveryResult;
    readonly status: number;
  } | null;
}

/** The last poll by a bridge, or the last attempt to push to the bridge, whichever is later. */
export interface LastContact {
  readonly at: string;
  /** Null for a poll. */
  readonly result: DeliveryResult | null;
  /**
   * The word "poll" for a poll. For a push attempt, the HTTP status of the answer, or the result if there was no
   * answer.
   */
  readonly words: string;
}

/** Returns the last contact with a bridge, or null if there was none. */
export function lastContact({ lastPollAt, lastAttempt }: Contacts): LastContact | null {
  if (lastAttempt !== null && (lastPollAt === null || Date.parse(lastAttempt.at) > Date.parse(lastPollAt))) {
    const { at, result, status } = lastAttempt;
    return { at, result, words: status === 0 ? result : String(status) };
  }
  return lastPollAt === null ? null : { at: lastPollAt, result: null, words: "poll" };
}
