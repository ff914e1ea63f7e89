import { Broken, type Rule } from "../rule";
import { errorAnswer, type PollAnswer } from "./poll-answer";
import { afterOf } from "./poll-request";
import type { PollTarget } from "./poll-target";

const RETRY_AFTER_SECONDS = 3;
/** Difference allowed between the clocks and timers of the check and the bridge, ms. */
const TOLERANCE_MS = 100;
/** Shortest allowed wait after a failed poll, ms. */
const WAIT_LEAST_MS = 500;
const AGAIN =
  "after a timeout, a dropped connection, a 429 or a 5xx, wait, and repeat the poll with the same `after`";

export const RETRY_RULES: readonly Rule<PollTarget>[] = [
  {
    id: "retry-after",
    says: "After a 429, the bridge waits for at least the seconds in Retry-After, and polls again with the same `after`.",
    fix: "read Retry-After, and do not poll for that number of seconds; then repeat the poll with the same `after`",
    judge: (target) =>
      repeats(
        target,
        `a 429 with Retry-After: ${RETRY_AFTER_SECONDS}`,
        () => errorAnswer(429, "too many requests", { "Retry-After": String(RETRY_AFTER_SECONDS) }),
        RETRY_AFTER_SECONDS * 1_000 - TOLERANCE_MS,
      ),
  },
  {
    id: "server-error",
    says: "After a 5xx, the bridge waits, and polls again with the same `after`.",
    fix: AGAIN,
    async judge(target) {
      const headers = { "Content-Type": "text/html" };
      const body = Buffer.from("<html><body>503 Service Unavailable</body></html>");
      return repeats(target, "a 503 with an HTML page", () => ({ status: 503, headers, body }));
    },
  },
  {
    id: "dropped-connection",
    says: "After a dropped connection, the bridge polls again with the same `after`, and shows each event of the page once.",
    fix: `${AGAIN}; use no part of an incomplete page`,
    async judge(target) {
      const { make, chat, taken, page, session } = target;
      const event = make.create("on a page whose connection was dropped");
      const next = session.cursor();
      const broken = () => {
        const whole = page({ events: [event] }, next);
        return { ...whole, breaksAfter: Math.floor(whole.body.length / 2) };
      };
      await repeats(target, "a connection that was dropped in the middle of a page", broken);
      await taken(event, "the page whose connection was dropped before");
      if (chat === undefined) return { unchecked: "whether the event is shown once" };
      await chat.shows(event);
      return undefined;
    },
  },
];

/** Answers a poll with a failure. Throws Broken unless the next poll has the same `after`, and follows after a wait. */
async function repeats(
  { session, taken, make }: PollTarget,
  what: string,
  build: () => PollAnswer,
  leastMs = WAIT_LEAST_MS,
): Promise<undefined> {
  const { answered, answeredAtMs, next } = await session.answerNext(build, what);
  if (next.after !== answered.after) {
    throw new Broken(`after ${what}, the next poll had ${afterOf(next)}, not ${afterOf(answered)} again`);
  }
  const waited = next.atMs - answeredAtMs;
  if (waited < leastMs)
    throw new Broken(`after ${what}, the bridge polled again after ${Math.round(waited)} ms`);
  // After a correct page, a bridge with growing waits begins again with a short wait.
  await taken(make.ping(), `a correct page after ${what}`);
}
