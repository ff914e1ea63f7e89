import { randomUUID } from "node:crypto";
import { sign } from "../../signature";
import { MALFORMED, WRONG } from "../bad-signatures";
import { ALL_SAMPLES } from "../events/text-samples";
import { Broken, type Rule } from "../rule";
import { alterationsOf, inAsciiJson, signAltered } from "../text-alterations";
import { EVENTS } from "./inbound-cases";
import { expectAccepted, expectRefused, type ServiceTarget } from "./service-target";

const MINUTE_MS = 60_000;
const OTHER = "a secret that is not the workspace's";

/** Faults of a request, in the order in which the service checks for them. */
const FAULTS = ["not JSON", "unknown workspace", "wrong secret", "signed long ago", "wrong field"] as const;
type Fault = (typeof FAULTS)[number];

const STATUS_OF: Readonly<Record<Fault, number>> = {
  "not JSON": 400,
  "unknown workspace": 404,
  "wrong secret": 401,
  "signed long ago": 409,
  "wrong field": 400,
};
const POLL_FAULTS: readonly Fault[] = ["unknown workspace", "wrong secret", "signed long ago", "wrong field"];

/**
 * Returns all pairs of faults, including each fault paired with itself. If a request has both faults of a pair, the
 * answer must have the status of the first fault.
 */
function pairsOf(faults: readonly Fault[]): readonly (readonly [Fault, Fault])[] {
  return faults.flatMap((first, i) => faults.slice(i).map((second) => [first, second] as const));
}

export const ORDER_RULES: readonly Rule<ServiceTarget>[] = [
  {
    id: "signatures-refused",
    says: "A missing, malformed or wrong Service-Signature is answered with 401.",
    fix: "accept only t=<digits> and one or more ,v1=<hex>, and compare the whole digest with the digest of <t>.<raw body>",
    async judge({ post, poll, secrets }) {
      const body = JSON.stringify(EVENTS.message);
      for (const { what, spoil } of [...MALFORMED, ...WRONG]) {
        const posted = await post(body, { signature: spoil(sign(body, secrets), body) });
        expectRefused(posted, 401, `a message with ${what}`);
        const polled = await poll("", { signature: spoil(sign("", secrets), "") });
        expectRefused(polled, 401, `a poll with ${what}`);
      }
      const spaced = JSON.stringify(EVENTS.message, undefined, 2);
      const reSerialised = { signature: sign(body, secrets) };
      expectRefused(await post(spaced, reSerialised), 401, "a body signed as if its JSON had no spaces");
      const utf8 = JSON.stringify({ ...EVENTS.message, text: ALL_SAMPLES });
      for (const alteration of alterationsOf(utf8)) {
        const signature = signAltered(utf8, [alteration], secrets);
        expectRefused(await post(utf8, { signature }), 401, `a body signed as if it was ${alteration.as}`);
      }
      return undefined;
    },
  },
  {
    id: "signatures-taken",
    says: "The signature covers the exact raw bytes, and one valid v1 entry is sufficient.",
    fix: "check all v1 entries, and compute the HMAC over the bytes as received",
    async judge({ post, secrets }) {
      const spaced = JSON.stringify(EVENTS.message, undefined, 2);
      expectAccepted(await post(spaced), "a message whose JSON has spaces");
      const utf8 = JSON.stringify({ ...EVENTS.message, text: ALL_SAMPLES });
      expectAccepted(await post(utf8), "a message with characters outside ASCII");
      expectAccepted(await post(inAsciiJson(utf8)), "a message with these characters as JSON escapes");
      const body = JSON.stringify(EVENTS.message);
      const [secret = ""] = secrets;
      for (const list of [
        [OTHER, secret],
        [secret, OTHER],
      ]) {
        const answer = await post(body, { signature: sign(body, list) });
        expectAccepted(answer, "a message with two v1 entries, one of them valid,");
      }
      return undefined;
    },
  },
  {
    id: "clock",
    says: "A timestamp within 5 minutes before or after the service's clock is accepted; any other timestamp is answered with 409.",
    fix: "check the timestamp after the digest; if this machine's clock is wrong, set it",
    async judge({ post, secrets }) {
      const body = JSON.stringify(EVENTS.message);
      for (const minutes of [-24 * 60, -6, -4, 4, 6, 24 * 60]) {
        const what = `a message signed ${Math.abs(minutes)} minutes ${minutes < 0 ? "ago" : "in the future"}`;
        const answer = await post(body, { signature: sign(body, secrets, Date.now() + minutes * MINUTE_MS) });
        if (Math.abs(minutes) < 5) expectAccepted(answer, what);
        else expectRefused(answer, 409, what);
      }
      return undefined;
    },
  },
  {
    id: "check-order",
    says: "Checks run in the contract's order, and the first failure determines the answer.",
    fix: "check in this order: size and JSON, workspace (404), signature (401), clock (409), fields (400)",
    async judge(target) {
      for (const [first, second] of pairsOf(FAULTS)) {
        const faults = [first, second];
        const raw = faults.includes("not JSON")
          ? "{"
          : JSON.stringify(faults.includes("wrong field") ? { ...EVENTS.message, user: {} } : EVENTS.message);
        const answer = await target.post(raw, changeFor(faults, raw, target));
        expectRefused(answer, STATUS_OF[first], `a message with faults (${wordsOf(faults)})`);
      }
      // If the workspace has a target URL, a correctly signed poll is answered with 403, which is not part of this
      // order.
      const pollFaults = (await target.isPolled())
        ? POLL_FAULTS
        : POLL_FAULTS.filter((fault) => fault !== "wrong field");
      for (const [first, second] of pairsOf(pollFaults)) {
        const faults = [first, second];
        const query = faults.includes("wrong field") ? "limit=0" : "";
        const answer = await target.poll(query, changeFor(faults, query, target));
        expectRefused(answer, STATUS_OF[first], `a poll with faults (${wordsOf(faults)})`);
      }
      return undefined;
    },
  },
  {
    id: "same-404",
    says: "Every request to an unavailable workspace, signed or not, is answered with 404 and the same body.",
    fix: "answer with 404 before the signature is checked, with the same body for every reason",
    async judge({ post, poll }) {
      const bodies = new Set<string>();
      for (const signature of [undefined, null]) {
        const change = { workspace: randomUUID(), ...(signature === null ? { signature } : {}) };
        for (const answer of [await post(EVENTS.message, change), await poll("", change)]) {
          expectRefused(answer, 404, "an unknown workspace");
          bodies.add(answer.body.toString());
        }
      }
      if (bodies.size > 1)
        throw new Broken(`the bodies of the 404 answers differ: ${[...bodies].join(" and ")}`);
      return { unchecked: "disconnected workspaces, and workspaces of other platforms" };
    },
  },
  {
    id: "both-secrets",
    says: "While a secret is rotated, both the old and the new secret are accepted.",
    fix: "keep accepting the old secret for 24 hours",
    async judge({ post, secrets }) {
      if (secrets.length < 2)
        return {
          unchecked: "this rule needs two secrets: rotate the secret, and give --secret <new> --secret <old>",
        };
      const body = JSON.stringify(EVENTS.message);
      for (const [i, secret] of secrets.entries()) {
        expectAccepted(
          await post(body, { signature: sign(body, secret) }),
          `a message signed with secret ${i + 1}`,
        );
      }
      return undefined;
    },
  },
];

function changeFor(faults: readonly Fault[], raw: string, { secrets, workspace }: ServiceTarget) {
  const at = faults.includes("signed long ago") ? Date.now() - 60 * MINUTE_MS : Date.now();
  return {
    signature: sign(raw, faults.includes("wrong secret") ? OTHER : secrets, at),
    workspace: faults.includes("unknown workspace") ? randomUUID() : workspace,
  };
}

function wordsOf(faults: readonly Fault[]): string {
  return [...new Set(faults)].join(", ");
}
