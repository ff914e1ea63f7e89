import { ALL_SAMPLES } from "../events/text-samples";
import { Broken } from "../rule";
import { hashedAlteration, inAsciiJson, signAltered, type Alteration } from "../text-alterations";
import type { PollTarget } from "./poll-target";

const FIX = "compute the HMAC over the bytes of the page as they arrive, before they are decoded or parsed";

/**
 * Answers a poll with a page that has characters outside ASCII in UTF-8, as the service does. If the bridge drops the
 * page, throws Broken with the likely cause, and all further pages have JSON escapes in place of these characters, so
 * that the other rules can be checked.
 */
export async function usesUtf8(target: PollTarget): Promise<void> {
  const { make, session, secrets, taken, page } = target;
  const what = "a page with characters outside ASCII";
  let body = "";
  const content = () => ({
    events: [make.create(ALL_SAMPLES)],
    write: (each: object) => (body = JSON.stringify(each)),
  });

  /** Resolves to whether the bridge uses a page whose signature has one entry for each of these alterations. */
  async function isUsed(alterations: readonly Alteration[]): Promise<boolean> {
    const signed = (raw: Buffer) => signAltered(raw.toString(), alterations, secrets);
    const next = session.cursor();
    const polled = await session.answerNext(() => page({ ...content(), signed }, next), what);
    // After a correct page, a bridge with growing waits begins again with a short wait.
    await taken(make.ping(), `a correct page after ${what}`);
    return polled.next.after !== polled.answered.after;
  }

  try {
    await session.pass(content(), what);
  } catch (error) {
    if (!(error instanceof Broken) || error.more.judgeable === "nothing") throw error;
    target.writeAs((each) => inAsciiJson(JSON.stringify(each)));
    const hashed = await hashedAlteration(body, isUsed);
    const cause = hashed && `the digest is valid if the page is ${hashed.as} before it is hashed`;
    throw new Broken(error.message, FIX, { cause });
  }
}
