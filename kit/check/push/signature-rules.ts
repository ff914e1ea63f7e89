import { TIMESTAMP_TOLERANCE_SECONDS } from "../../../contract/numbers";
import type { Message } from "../../events";
import { sign } from "../../signature";
import { entriesOf, MALFORMED, WRONG, type BadSignature } from "../bad-signatures";
import { ALL_SAMPLES } from "../events/text-samples";
import { Broken, type Rule } from "../rule";
import { hashedAlteration, inAsciiJson, signAltered } from "../text-alterations";
import { isTaken, type PushTarget } from "./push-target";

const MINUTE_MS = 60_000;
/** A secret that no bridge has. */
const OTHER = "a secret that is not the bridge's";
const RAW_BYTES =
  "compute the HMAC over the bytes of the body as they arrive, before they are decoded or parsed";

export const SIGNATURE_RULES: readonly Rule<PushTarget>[] = [
  {
    id: "unsigned-refused",
    says: "A push without a well-formed Service-Signature is rejected.",
    fix: "before using the body, answer with 401 unless the header is t=<digits>, followed by one or more ,v1=<hex>",
    judge: (target) => refusesAndHidesAll(target, MALFORMED),
    judgeRefusals: async (target) => void (await refusesAll(target, MALFORMED)),
  },
  {
    id: "forged-refused",
    says: "A push is rejected unless a v1 entry is the HMAC-SHA256 of `<t>.<raw body>` under the secret.",
    fix: "compare the whole digest in constant time, and answer with 401 unless the digest matches",
    judge: (target) => refusesAndHidesAll(target, forged(target)),
    judgeRefusals: async (target) => void (await refusesAll(target, forged(target))),
  },
  {
    id: "raw-bytes",
    says: "The signature covers the raw bytes of the body, not JSON that was parsed and written again.",
    fix: "read the bytes before any body parser, and compute the HMAC over exactly these bytes",
    async judge(target) {
      const { make, taken } = target;
      await takesUtf8(target);
      const event = make.create("written with spaces");
      const json = JSON.stringify(event, undefined, 2).replace("chat-bridge", "chat\\u002dbridge");
      const raw = Buffer.from(` ${json}\n`);
      await taken(event, "a push whose JSON has spaces and escapes, signed as it stands,", { body: raw });
      return refusesReSerialised(target);
    },
    judgeRefusals: refusesReSerialised,
  },
  {
    id: "old-refused",
    says: "A push is rejected if its signed timestamp differs from the bridge's clock by more than 5 minutes.",
    fix: `after the digest check, reject a timestamp more than ${TIMESTAMP_TOLERANCE_SECONDS} seconds behind or ahead of your clock, with 409 or another 4xx`,
    judge: refusesOld,
    judgeRefusals: refusesOld,
  },
  {
    id: "recent-taken",
    says: "A push is accepted if its signed timestamp is within 5 minutes of the bridge's clock.",
    fix: `accept timestamps up to ${TIMESTAMP_TOLERANCE_SECONDS} seconds behind or ahead of your clock`,
    async judge({ make, taken, secrets, write }) {
      for (const [what, minutes] of [
        ["4 minutes ago", -4],
        ["4 minutes in the future", 4],
      ] as const) {
        const event = make.ping();
        const signature = sign(write(event), secrets, Date.now() + minutes * MINUTE_MS);
        await taken(event, `a push signed ${what}`, { signature });
      }
      return undefined;
    },
  },
  {
    id: "rotation",
    says: "While a secret is rotated, a push has several v1 entries, and one valid entry is sufficient.",
    fix: "check all v1 entries of the header, and accept the push when any of them is valid",
    async judge({ make, taken, refused, secrets, write }) {
      for (const [what, before, after] of [
        ["whose second v1 entry is valid", 1, 0],
        ["whose first v1 entry of two is valid", 0, 1],
        ["whose last v1 entry of four is valid", 3, 0],
      ] as const) {
        const event = make.ping();
        const wrong = (times: number) => `,v1=${"ab".repeat(32)}`.repeat(times);
        const right = sign(write(event), secrets);
        const signature = `${right.slice(0, right.indexOf(","))}${wrong(before)}${entriesOf(right)}${wrong(after)}`;
        await taken(event, `a push ${what}`, { signature });
      }
      const event = make.ping();
      const others = [OTHER, `${OTHER}, too`];
      await refused(event, "a push with two invalid v1 entries", { signature: sign(write(event), others) });
      return undefined;
    },
  },
];

function forged({ secrets }: PushTarget): readonly BadSignature[] {
  const altered = sign("the body before it was altered", secrets);
  return [
    ...WRONG,
    { what: "the signature of another body", spoil: () => altered },
    { what: "a signature under another secret", spoil: (_right, body) => sign(body, OTHER) },
  ];
}

/** Pushes a message with each signature in `bad`. Throws Broken unless each push is rejected. Returns the messages. */
async function refusesAll(
  { make, refused, secrets, write }: PushTarget,
  bad: readonly BadSignature[],
): Promise<readonly Message[]> {
  const messages: Message[] = [];
  for (const { what, spoil } of bad) {
    const event = make.create(`forged, with ${what}`);
    const body = write(event);
    await refused(event, `a push with ${what}`, { body, signature: spoil(sign(body, secrets), body) });
    messages.push(event.message);
  }
  return messages;
}

/** Pushes as `refusesAll` does, and then also throws Broken if the chat shows any of the messages. */
async function refusesAndHidesAll(target: PushTarget, bad: readonly BadSignature[]): Promise<undefined> {
  const { chat, hides } = target;
  const messages = await refusesAll(target, bad);
  if (chat !== undefined) await hides(chat, messages, "its signature is invalid");
}

async function refusesReSerialised({ make, refused, secrets, write }: PushTarget): Promise<undefined> {
  const event = make.create("written with spaces, signed without");
  const body = Buffer.from(JSON.stringify(event, undefined, 2));
  const signature = sign(write(event), secrets);
  await refused(event, "a push that is signed as if its JSON had no spaces", { body, signature });
}

async function refusesOld({ make, refused, secrets, write }: PushTarget): Promise<undefined> {
  for (const [what, minutes] of [
    ["6 minutes ago", -6],
    ["6 minutes in the future", 6],
    ["a day ago", -24 * 60],
  ] as const) {
    const event = make.create(`signed ${what}`);
    const signature = sign(write(event), secrets, Date.now() + minutes * MINUTE_MS);
    await refused(event, `a push signed ${what}`, { signature });
  }
}

/**
 * Pushes an event that contains non-ASCII characters, encoded in UTF-8 as the service does. If the bridge rejects the
 * push, throws Broken with the likely cause. If the bridge accepts the same characters as JSON escapes, all further
 * events are written with such escapes, so that the other rules can be checked.
 */
async function takesUtf8(target: PushTarget): Promise<void> {
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
    if (isTaken(await push(ascii, { body: Buffer.from(write(ascii)) }))) target.writeAs = write;
    const cause = hashed && `the digest is valid if the body is ${hashed.as} before it is hashed`;
    throw new Broken(error.message, RAW_BYTES, { cause });
  }
}
