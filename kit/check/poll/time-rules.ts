import { POLL_INTERVAL_MS } from "../../../contract/numbers";
import { Broken, type Rule } from "../rule";
import { afterOf } from "./poll-request";
import type { PollTarget } from "./poll-target";

/** Number of measured waits. A single wait can be short if one poll is late. */
const IDLE_GAPS = 2;
const INTERVAL_LEAST_MS = 0.75 * POLL_INTERVAL_MS;
/** "Every few seconds" (contract, `GET /hooks/{workspaceId}/events`). */
const INTERVAL_MOST_MS = 5 * POLL_INTERVAL_MS;
const MORE_MOST_MS = 0.5 * POLL_INTERVAL_MS;

/**
 * Rules about the times of polls. An earlier rule ends with a page whose hasMore is true, so the first poll of each
 * rule follows immediately.
 */
export const TIME_RULES: readonly Rule<PollTarget>[] = [
  {
    id: "has-more",
    says: "After a page whose hasMore is true, the bridge polls again immediately.",
    fix: "when hasMore is true, poll again as soon as the page is shown, without a wait",
    async judge({ make, taken, session }) {
      await taken(make.ping(), "a page with a ping");
      const fastest = Math.min(...session.gaps.more);
      if (fastest < MORE_MOST_MS) return { note: `after ${Math.round(fastest)} ms` };
      throw new Broken(
        `the fastest of ${session.gaps.more.length} such polls came after ${seconds(fastest)}`,
      );
    },
  },
  {
    id: "poll-interval",
    says: `After a page whose hasMore is false, the bridge polls again after about ${POLL_INTERVAL_MS / 1000} seconds.`,
    fix: `when hasMore is false, wait for ${POLL_INTERVAL_MS / 1000} seconds before the next poll`,
    async judge(target) {
      const { session } = target;
      do {
        const { answered, next } = await session.answerNext(target.idle, "a page without new events", true);
        if (next.after !== answered.after) {
          throw new Broken(
            `after a page without new events, the next poll had ${afterOf(next)}, not ${afterOf(answered)} again`,
            "when a page has no events, its next is the cursor that you sent: keep that cursor",
          );
        }
      } while (session.gaps.idle.length < IDLE_GAPS);
      const [slowest, fastest] = [Math.max(...session.gaps.idle), Math.min(...session.gaps.idle)];
      if (slowest < INTERVAL_LEAST_MS) throw new Broken(`the bridge polled again after ${seconds(slowest)}`);
      if (fastest > INTERVAL_MOST_MS) throw new Broken(`the bridge polled again after ${seconds(fastest)}`);
      return { note: `after ${seconds(fastest)}` };
    },
  },
];

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} seconds`;
