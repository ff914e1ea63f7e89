import type { Follower } from "../operations/follow";
import type { PublishOutcome } from "../operations/publish-events";
import type { Accepted } from "../operations/receive";
import type { Refusal } from "../operations/refusal";

type Refused = Refusal["refused"];

/**
 * What core has done for its callers and has under way: plain numbers, for whoever
 * watches the service.
 */
export interface Tally {
  /**
   * Streams of edges, the calls on them whose answers have not left, the bytes of the bodies of
   * those that are not answered, and the bytes of answers that have not left.
   */
  readonly lanes: { open: number; calls: number; bytes: number; answerBytes: number };
  /** Answers to the requests of bridges. */
  readonly receives: Record<Accepted["accepted"] | Refused, number>;
  readonly polls: Record<"page" | Refused, number>;
  /** Bytes of the requests of PublishEvents that are under way. */
  readonly publishing: { bytes: number };
  /** Events that games published, by what became of them. */
  readonly published: Record<PublishOutcome["outcome"], number>;
  /** Streams of game services, and what was sent on them. */
  readonly followers: Set<Follower>;
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
