import type { Follower } from "../operations/follow";
import type { PublishOutcome } from "../operations/publish-events";
import type { Accepted } from "../operations/receive";
import type { Refusal } from "../operations/refusal";

type Refused = Refusal["refused"];

/**
 * Counts of what core has done for its callers, and of what is in progress. They are the
 * source of the metrics.
 */
export interface Tally {
  /**
   * Open streams of edges; calls on them whose answers have not been sent; bytes of the bodies
   * of calls without an answer; bytes of answers that have not been sent.
   */
  readonly lanes: { open: number; calls: number; bytes: number; answerBytes: number };
  /** Answers to the requests of bridges. */
  readonly receives: Record<Accepted["accepted"] | Refused, number>;
  readonly polls: Record<"page" | Refused, number>;
  /** Bytes of the `PublishEvents` requests in progress. */
  readonly publishing: { bytes: number };
  /** Events that games published, by outcome. */
  readonly published: Record<PublishOutcome["outcome"], number>;
  /** Open streams of games. */
  readonly followers: Set<Follower>;
  /** Events sent on these streams, by first or further attempt. */
  readonly delivered: { first: number; again: number };
}

const REFUSED: Readonly<Record<Refused, number>> = {
  "address-limit": 0,
  "unknown-workspace": 0,
  signature: 0,
  timestamp: 0,
  "workspace-limit": 0,
  invalid: 0,
  "push-workspace": 0,
};

export function createTally(): Tally {
  return {
    lanes: { open: 0, calls: 0, bytes: 0, answerBytes: 0 },
    receives: { stored: 0, repeated: 0, ...REFUSED },
    polls: { page: 0, ...REFUSED },
    publishing: { bytes: 0 },
    published: { published: 0, repeated: 0, "unknown-workspace": 0, invalid: 0 },
    followers: new Set(),
    delivered: { first: 0, again: 0 },
  };
}
