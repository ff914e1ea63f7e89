import { CURSOR_FORM } from "../../../contract/forms";
import { POLL_INTERVAL_MS } from "../../../contract/numbers";
import { keyMistakes } from "../bad-signatures";
import { Broken, type Rule } from "../rule";
import { errorAnswer, type PollAnswer } from "./fake-service";
import { afterOf } from "./poll-log";
import { WrongAfter } from "./poll-session";
import type { PollTarget } from "./poll-target";

const POLLS = "the bridge must poll GET <base URL>/hooks/<workspace id>/events";

/** Advice about the first poll, for each fault that its signature can have. */
const SIGNATURE_ADVICE = {
  missing: "sign every poll with the header Service-Signature",
  malformed: "sign every poll with the header Service-Signature: t=<unix seconds>,v1=<hex>",
  wrong: "compute the HMAC-SHA256 of `<t>.<query string>` under the secret that the check was given",
  stale: "sign with the current time in seconds, and correct a wrong clock",
} as const;

export const FIRST_POLL_RULES: readonly Rule<PollTarget>[] = [
  {
    id: "polls",
    says: "The bridge polls GET <base URL>/hooks/<workspace id>/events, with a valid signature.",
    fix: "configure the bridge with the base URL, the workspace id and the secret of the check, and start the bridge",
    isGate: true,
    async judge(target) {
      const { first, session, secrets, waitMs } = target;
      const request = await first();
      if (request === undefined) {
        throw new Broken(`there was no poll within ${waitMs / 1000} s`, undefined, {
          isUnreached: true,
        });
      }
      if ("elsewhere" in request) {
        throw new Broken(`${request.elsewhere} was answered with 404: ${POLLS}`);
      }
      const { poll, finding } = request;
      if (finding === undefined) return { note: `with ${afterOf(poll)}` };
      const { fault, found, cause, isKeyRight } = finding;
      // The rule "poll-signed" reports a poll that is signed with the right secret over the wrong text.
      if (isKeyRight && fault !== "stale") return { note: "with a faulty signature: see poll-signed" };
      const status = fault === "stale" ? 409 : 401;
      session.answerOnce(errorAnswer(status, "the signature of the poll is not valid"));
      const mistake = secrets.flatMap(keyMistakes).find(({ as }) => cause?.endsWith(as));
      throw new Broken(`the first poll: ${found}`, mistake?.fix ?? SIGNATURE_ADVICE[fault], { cause });
    },
  },
  {
    id: "cursor",
    says: "The bridge passes a page's `next` back as `after`, exactly as received, and passes no `after` while `next` is null.",
    fix: "store `next` as the text that it is, and send it unchanged as `after`; omit `after` as long as `next` is null",
    isGate: true,
    async judge(target) {
      const { make, taken, session } = target;
      try {
        await begin(target);
        await taken(make.ping(), "a page with a ping");
        await taken(make.ping(), "a second page with a ping");
        // A bridge may repeat a poll because its chat refuses a message, but these pages contain only pings.
        if (session.repeats === 0) return undefined;
        throw new WrongAfter("the bridge repeated the `after` of a page that had only a ping");
      } catch (error) {
        if (!(error instanceof WrongAfter)) throw error;
        // The session now accepts any `after`, so all other rules can be checked.
        session.acceptAnyAfter();
        throw new Broken(error.message, error.fix, { judgeable: "all" });
      }
    },
  },
];

/**
 * Number of measured waits. One wait is not enough: if a poll is late, the measured wait before the next poll is too
 * short.
 */
const IDLE_GAPS = 2;
const INTERVAL_LEAST_MS = 0.75 * POLL_INTERVAL_MS;
/** "Every few seconds" (contract, `GET /hooks/{workspaceId}/events`). */
const INTERVAL_MOST_MS = 5 * POLL_INTERVAL_MS;
const MORE_MOST_MS = 0.5 * POLL_INTERVAL_MS;

/**
 * Rules about the times of polls. Each earlier rule ends with a page whose `hasMore` is true, so the bridge polls
 * immediately when the next rule begins.
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
      const { make, taken, page, session, judgeShown } = target;
      const event = make.create("on a page whose connection was dropped");
      const next = session.cursor();
      const broken = () => {
        const whole = page({ events: [event] }, next);
        return { ...whole, breaksAfter: Math.floor(whole.body.length / 2) };
      };
      await repeats(target, "a connection that was dropped in the middle of a page", broken);
      await taken(event, "the page whose connection was dropped before");
      return judgeShown(event, "whether the event is shown once");
    },
  },
];

/**
 * Answers the first poll of a bridge without a cursor. If that poll has `after=latest`, the page's `next` is a cursor.
 * Otherwise, `next` is null, and the second poll must have the same `after` as the first poll. Throws WrongAfter if the
 * second poll has a different `after`.
 */
async function begin({ first, session, idle }: PollTarget): Promise<void> {
  const request = await first();
  if (request === undefined || !("poll" in request)) return;
  const { after } = request.poll;
  // The bridge already has a cursor, so the session begins at this cursor.
  if (after !== undefined && CURSOR_FORM.test(after)) return;
  if (after === "latest") {
    const cursor = session.cursor();
    session.begin(cursor);
    const { next } = await session.answerNext(() => idle(cursor), "the page for after=latest", true);
    if (next.after === cursor) return;
    throw new WrongAfter(
      `after the page for after=latest, the next poll had ${afterOf(next)}, not next, "${cursor}"`,
    );
  }
  const { next } = await session.answerNext(() => idle(null), "a page whose next is null", true);
  if (next.after === after) return;
  throw new WrongAfter(
    `after a page whose next was null, the next poll had ${afterOf(next)}, not no \`after\``,
  );
}

/**
 * Answers a poll with a failure. Throws Broken unless the next poll has the same `after` and arrives after a wait of at
 * least `leastMs`.
 */
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
  // After a correct page, a bridge with growing waits starts again with a short wait.
  await taken(make.ping(), `a correct page after ${what}`);
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} seconds`;
