import { PUBLISHING_MAX_BYTES } from "../domain/bounds";
import type { Follower } from "../operations/follow";
import { createShares } from "../../runtime/shares";

/** Counts of the work that core has done for its callers, and of the work in progress. The metrics use these counts. */
export type CallCounts = ReturnType<typeof createCallCounts>;

const REFUSED = {
  "address-limit": 0,
  "unknown-workspace": 0,
  signature: 0,
  timestamp: 0,
  "workspace-limit": 0,
  invalid: 0,
  "push-workspace": 0,
  "secret-unreadable": 0,
};

export function createCallCounts() {
  return {
    /**
     * `open`: open lanes. `calls`: calls whose answers have not been sent. `bytes`: bytes of the bodies of calls that
     * core is still processing. `answerBytes`: bytes of answers that have not been sent.
     */
    lanes: { open: 0, calls: 0, bytes: 0, answerBytes: 0 },
    /** Answers to the requests of bridges, by outcome: `receives` for posted events, and `polls` for polls. */
    receives: { stored: 0, repeated: 0, ...REFUSED },
    polls: { page: 0, ...REFUSED },
    /** Bytes of the `PublishEvents` requests in progress. */
    publishing: createShares(PUBLISHING_MAX_BYTES),
    /** Events that games published, by outcome. */
    published: {
      published: 0,
      repeated: 0,
      "unknown-workspace": 0,
      "held-full": 0,
      "store-full": 0,
      stale: 0,
      invalid: 0,
    },
    /** Open streams of games. */
    followers: new Set<Follower>(),
    /** Events sent on the streams of games: `first` counts first deliveries, and `again` counts redeliveries. */
    delivered: { first: 0, again: 0 },
    /** Events that games gave up, by group. */
    deadLetters: new Map<string, number>(),
  };
}
