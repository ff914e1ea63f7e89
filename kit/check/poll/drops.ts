import type { Message } from "../../events";
import { Broken } from "../rule";
import type { PageContent } from "./poll-answer";
import { afterOf } from "./poll-request";
import type { PollTarget } from "./poll-target";

/**
 * Answers a poll with a page that the bridge must drop. Throws Broken unless the next poll has the same `after`.
 * Returns the message on the page, which the bridge must not show. Then sends a correct page, so that a bridge with
 * growing waits begins again with a short wait.
 */
export async function drops(
  { make, session, taken, page }: PollTarget,
  what: string,
  content: Pick<PageContent, "signed" | "write">,
): Promise<Message> {
  const event = make.create(`on ${what}`);
  const wrongNext = session.cursor();
  const { answered, next } = await session.answerNext(
    () => page({ events: [event], ...content }, wrongNext),
    what,
  );
  if (next.after !== answered.after) {
    throw new Broken(`${what} was used: the next poll had ${afterOf(next)}, not ${afterOf(answered)} again`);
  }
  await taken(make.ping(), `a correct page after ${what}`);
  return event.message;
}
