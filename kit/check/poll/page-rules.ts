import type { Message } from "../../events";
import { sign } from "../../signature";
import { MALFORMED, WRONG, type BadSignature } from "../bad-signatures";
import type { Rule } from "../rule";
import { drops } from "./drops";
import type { PollTarget } from "./poll-target";
import { usesUtf8 } from "./uses-utf8";

const MINUTE_MS = 60_000;
/** A secret that no bridge has. */
const OTHER = "a secret that is not the bridge's";
/** After each dropped page, the bridge waits for an interval, so the check uses only two of the malformed headers. */
const UNSIGNED = MALFORMED.filter(({ what }) => /^(no signature|a signature without a digest)$/.test(what));
const FORGED: readonly BadSignature[] = [
  { what: "a signature under another secret", spoil: (_right, body) => sign(body, OTHER) },
  ...WRONG.filter(({ what }) => what.startsWith("only the first half")),
];
const DROP =
  "before you use a page, verify its signature over the bytes of the body; drop an invalid page, and repeat the poll";

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

/** Answers polls with pages whose signatures are in `bad`. Throws Broken if the bridge uses any of the pages. */
async function dropsAll(target: PollTarget, bad: readonly BadSignature[]): Promise<undefined> {
  const { chat, hides, secrets } = target;
  const messages: Message[] = [];
  for (const { what, spoil } of bad) {
    const signed = (body: Buffer) => spoil(sign(body, secrets), body);
    messages.push(await drops(target, `a page with ${what}`, { signed }));
  }
  if (chat !== undefined) await hides(chat, messages, "the signature of its page is invalid");
}
