import { CURSOR_FORM } from "../../../contract/forms";
import { Broken, type Rule } from "../rule";
import { keyMistakes } from "../key-mistakes";
import { errorAnswer } from "./poll-answer";
import { afterOf } from "./poll-request";
import { WrongAfter } from "./poll-session";
import type { PollTarget } from "./poll-target";

const POLLS = "the bridge must poll GET <base URL>/hooks/<workspace id>/events";

/** Advice for the first poll, by the fault of its signature. */
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
      // The rule "poll-signed" reports a poll that is signed with the right secret over a wrong text.
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
        // A chat can refuse a message, but not a ping, so there is no reason to repeat these polls.
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
 * Answers the first poll of a bridge without a cursor. After `after=latest`, the page has a cursor as `next`.
 * Otherwise, `next` is null, and the second poll must have the same `after` as the first poll. Throws WrongAfter if the
 * second poll has another `after`.
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
