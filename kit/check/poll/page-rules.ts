import type { Message } from "../../events";
import { sign } from "../../signature";
import { MALFORMED, WRONG, type BadSignature } from "../bad-signatures";
import { ALL_SAMPLES } from "../events/text-samples";
import { Broken, type Rule } from "../rule";
import { hashedAlteration, inAsciiJson, signAltered, type Alteration } from "../text-alterations";
import type { PageContent } from "./fake-service";
import { afterOf } from "./poll-log";
import type { PollTarget } from "./poll-target";

const MINUTE_MS = 60_000;
/** A secret that differs from the secret of the checked bridge. */
const OTHER = "a secret that is not the bridge's";
/**
 * The check uses only two of the malformed headers, because the bridge waits for an interval after each dropped page.
 */
const UNSIGNED = MALFORMED.filter(({ what }) => /^(no signature|a signature without a digest)$/.test(what));
const FORGED: readonly BadSignature[] = [
  { what: "a signature under another secret", spoil: (_right, body) => sign(body, OTHER) },
  ...WRONG.filter(({ what }) => what.startsWith("only the first half")),
];
const DROP =
  "before you use a page, verify its signature over the bytes of the body; drop an invalid page, and repeat the poll";

const RAW_BYTES =
  "compute the HMAC over the bytes of the page as they arrive, before they are decoded or parsed";

/** Rules about the signatures of pages. */
export const PAGE_RULES: readonly Rule<PollTarget>[] = [
  {
    id: "page-unsigned",
    says: "A page without a well-formed Service-Signature is dropped, and the bridge polls again with the same `after`.",
    fix: DROP,
    judge: (target) => dropsAll(target, UNSIGNED),
  },
  {
    id: "page-forged",
    says: "A page is dropped unless a v1 entry is the HMAC-SHA256 of `<t>.<raw body>` under the secret.",
    fix: DROP,
    judge: (target) => dropsAll(target, FORGED),
  },
  {
    id: "page-raw-bytes",
    says: "The signature covers the raw bytes of a page, not JSON that was parsed and written again.",
    fix: "read the bytes of the body before you parse them, and compute the HMAC over exactly these bytes",
    async judge(target) {
      const { make, session } = target;
      await usesUtf8(target);
      const write = (page: object) => ` ${JSON.stringify(page, undefined, 2)}\n`;
      const content = { events: [make.ping()], write };
      await session.pass(content, "a page whose JSON is written with spaces");
      const message = await drops(target, "a page that is signed as if its JSON had no spaces", {
        write,
        signed: (body) => sign(JSON.stringify(JSON.parse(body.toString())), target.secrets),
      });
      if (target.chat !== undefined)
        await target.hides(target.chat, [message], "the signature of its page is invalid");
      return undefined;
    },
  },
  {
    id: "page-stale",
    says: "A page is dropped if its signed timestamp differs from the bridge's clock by more than 5 minutes, and is used otherwise.",
    fix: "after the digest check, compare the timestamp with your clock; drop a page that was signed more than 300 seconds earlier or later",
    async judge(target) {
      const { make, secrets, session } = target;
      for (const [what, minutes] of [
        ["4 minutes ago", -4],
        ["4 minutes in the future", 4],
      ] as const) {
        const signed = (body: Buffer) => sign(body, secrets, Date.now() + minutes * MINUTE_MS);
        await session.pass({ events: [make.ping()], signed }, `a page signed ${what}`);
      }
      return dropsAll(target, [staleBy(-6, "6 minutes ago"), staleBy(6, "6 minutes in the future")]);

      function staleBy(minutes: number, what: string): BadSignature {
        const spoil = (_right: string, body: Uint8Array | string) =>
          sign(body, secrets, Date.now() + minutes * MINUTE_MS);
        return { what: `a timestamp ${what}`, spoil };
      }
    },
  },
  {
    id: "rotation",
    says: "While a secret is rotated, a page has several v1 entries, and one valid entry is sufficient.",
    fix: "check all v1 entries of the header, and use the page when any of them is valid",
    async judge({ make, secrets, session }) {
      for (const [what, all] of [
        ["is signed with a new secret and the bridge's secret", [OTHER, ...secrets]],
        ["is signed with the bridge's secret and a retired secret", [...secrets, OTHER]],
        ["has four v1 entries", [OTHER, `${OTHER}, too`, `${OTHER}, three`, ...secrets]],
      ] as const) {
        const signed = (body: Buffer) => sign(body, all);
        await session.pass({ events: [make.ping()], signed }, `a page that ${what}`);
      }
      return undefined;
    },
  },
];

/** Rules about the content of pages. These rules apply only to bridges that poll. */
export const CATCH_UP_RULES: readonly Rule<PollTarget>[] = [
  {
    id: "unknown-type",
    says: "If a page has unknown fields and an event of an unknown type, the other events of the page are shown.",
    fix: "skip an event whose type you do not know, and ignore unknown fields: new fields come without notice, and a later contract may add types",
    async judge({ make, session, judgeShown }) {
      const unknown = { ...make.create("an event of an unknown type"), type: "message.unknown" };
      const create = make.create("after an event of an unknown type");
      const content = { events: [unknown, create], more: { unknown: { any: 1 } } };
      await session.pass(content, "a page with an event of an unknown type");
      return judgeShown(create, "whether the other event is shown");
    },
  },
  {
    id: "gap",
    says: "After a page whose gap is true, the bridge shows the events of the page and carries on from `next`.",
    fix: "when gap is true, poll with the page's `next`; you may tell the channel that messages were missed",
    async judge({ make, session, judgeShown }) {
      const create = make.create("after a gap");
      await session.pass({ events: [create], gap: true }, "a page whose gap is true");
      return judgeShown(create, "whether the event is shown");
    },
  },
  {
    id: "highest-update",
    says: "Of several updates of one message on a page, the update with the highest sequence is shown.",
    fix: "of all updates of a message that you have, apply only the one with the highest sequence",
    async judge({ make, chat, session, hides, createdFirst }) {
      const create = await createdFirst(make.create("updated several times"));
      const updates = ["first", "second", "last"].map((which) => make.update(create, `the ${which} update`));
      await session.pass({ events: updates }, "a page with three updates of a message");
      const last = updates.at(-1);
      if (chat === undefined || last === undefined) return { unchecked: "which update is shown" };
      await chat.shows(last);
      const others = updates.filter((update) => update !== last).map(({ message }) => message);
      await hides(chat, others, "the page had a newer update of the same message");
      return undefined;
    },
  },
  {
    id: "update-of-expired",
    says: "An update whose create was dropped because it had expired is dropped too.",
    fix: "hold an update with an unknown message.id for 5 seconds, and then drop the update; never post an update as a new message",
    async judge({ make, chat, session, hides }) {
      const [createdAt, expiresAt] = [11, 1].map((minutes) =>
        new Date(Date.now() - minutes * MINUTE_MS).toISOString(),
      );
      const create = make.create("created, and expired");
      const update = make.update(create, "an update of an expired message");
      const events = [{ ...create, createdAt, expiresAt }, update];
      await session.pass({ events }, "a page with an expired create and an update of it");
      if (chat === undefined) return { unchecked: "whether the update is dropped" };
      await hides(chat, [create.message, update.message], "the create had expired");
      return undefined;
    },
  },
];

/**
 * Answers polls with pages, one for each invalid signature in `bad`. Throws Broken if the bridge uses any of the pages.
 */
async function dropsAll(target: PollTarget, bad: readonly BadSignature[]): Promise<undefined> {
  const { chat, hides, secrets } = target;
  const messages: Message[] = [];
  for (const { what, spoil } of bad) {
    const signed = (body: Buffer) => spoil(sign(body, secrets), body);
    messages.push(await drops(target, `a page with ${what}`, { signed }));
  }
  if (chat !== undefined) await hides(chat, messages, "the signature of its page is invalid");
}

/**
 * Answers a poll with a page that the bridge must drop. Throws Broken unless the next poll has the same `after`.
 * Returns the message on the page, which the bridge must not show. Finally sends a correct page, because a bridge whose
 * waits grow with each failure then starts again with a short wait.
 */
async function drops(
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

/**
 * Answers a poll with a page that contains characters outside ASCII in UTF-8, as the service does. If the bridge drops
 * the page, finds the likely cause and throws Broken. All further pages then have JSON escapes in place of these
 * characters, so that the other rules can be checked.
 */
async function usesUtf8(target: PollTarget): Promise<void> {
  const { make, session, secrets, taken, page } = target;
  const what = "a page with characters outside ASCII";
  let body = "";
  const content = () => ({
    events: [make.create(ALL_SAMPLES)],
    write: (each: object) => (body = JSON.stringify(each)),
  });

  /**
   * Sends a page whose signature contains one entry for each of these alterations of the body. Resolves to whether the
   * bridge uses the page.
   */
  async function isUsed(alterations: readonly Alteration[]): Promise<boolean> {
    const signed = (raw: Buffer) => signAltered(raw.toString(), alterations, secrets);
    const next = session.cursor();
    const polled = await session.answerNext(() => page({ ...content(), signed }, next), what);
    // A bridge whose waits grow with each failure starts again with a short wait after a correct page.
    await taken(make.ping(), `a correct page after ${what}`);
    return polled.next.after !== polled.answered.after;
  }

  try {
    await session.pass(content(), what);
  } catch (error) {
    if (!(error instanceof Broken) || error.more.judgeable === "nothing") throw error;
    target.writeAs = (each) => inAsciiJson(JSON.stringify(each));
    const hashed = await hashedAlteration(body, isUsed);
    const cause = hashed && `the digest is valid if the page is ${hashed.as} before it is hashed`;
    throw new Broken(error.message, RAW_BYTES, { cause });
  }
}
