import { ALL_SAMPLES } from "../events/text-samples";
import { Broken } from "../rule";
import { hashedAlteration, inAsciiJson, signAltered } from "../text-alterations";
import type { PushTarget } from "./push-target";

const FIX = "compute the HMAC over the bytes of the body as they arrive, before they are decoded or parsed";

/**
 * Pushes an event with characters outside ASCII in UTF-8, as the service does. If the bridge rejects the push, throws
 * Broken with the likely cause. If the bridge accepts the same characters as JSON escapes, all further events have such
 * escapes, so that the other rules can be checked.
 */
export async function takesUtf8(target: PushTarget): Promise<void> {
  const { make, push, taken, secrets } = target;
  const create = () => {
    const event = make.create(ALL_SAMPLES);
    return { event, body: JSON.stringify(event) };
  };
  const { event, body } = create();
  try {
    await taken(event, "a push with characters outside ASCII", { body: Buffer.from(body) });
  } catch (error) {
    if (!(error instanceof Broken) || error.more.isUnreached === true) throw error;
    const hashed = await hashedAlteration(body, async (alterations) => {
      const { event: each, body: text } = create();
      const signature = signAltered(text, alterations, secrets);
      return isTaken(await push(each, { body: Buffer.from(text), signature }));
    });
    const write = (each: object) => inAsciiJson(JSON.stringify(each));
    const ascii = make.create(ALL_SAMPLES);
    if (isTaken(await push(ascii, { body: Buffer.from(write(ascii)) }))) target.writeAs(write);
    const cause = hashed && `the digest is valid if the body is ${hashed.as} before it is hashed`;
    throw new Broken(error.message, FIX, { cause });
  }
}

function isTaken(reply: object): boolean {
  const { status } = { status: 0, ...reply };
  return status >= 200 && status <= 299;
}
