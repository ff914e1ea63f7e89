import { createHmac } from "node:crypto";
import { SIGNATURE_FORM } from "../../../contract/forms";
import { SIGNATURE_FAULT_WORDS, verify, type SignatureFault } from "../../signature";
import { keyMistakes } from "../key-mistakes";
import type { PollRequest } from "./poll-request";

/** The fault of a poll's signature. */
export interface SignatureFinding {
  readonly fault: SignatureFault;
  /** The fault, as a sentence without a subject. */
  readonly found: string;
  /** The probable cause. */
  readonly cause?: string;
  /** Whether the bridge has the right secret, so that the bridge can check pages. */
  readonly isKeyRight: boolean;
}

/** Texts that bridges sign by mistake, instead of `<t>.<query string>`. */
const TEXTS: readonly (readonly [what: string, text: (t: string, poll: PollRequest) => string])[] = [
  ["an empty string instead of the query string", (t) => `${t}.`],
  ["the query string with the question mark before it", (t, { query }) => `${t}.?${query}`],
  ["the path and the query string", (t, { target }) => `${t}.${target}`],
  ["the path alone", (t, { target }) => `${t}.${target.replace(/\?.*/, "")}`],
  ["the query string after decoding", (t, { parameters }) => `${t}.${plainQuery(parameters)}`],
  ["only the parameter `after`", (t, { after }) => `${t}.after=${after ?? ""}`],
  ["the query string without the timestamp", (_t, { query }) => query],
];

/** Returns the fault of a poll's signature, with the probable cause; undefined for a valid signature. */
export function signatureFault(poll: PollRequest, secrets: readonly string[]): SignatureFinding | undefined {
  const fault = verify(poll.signature, poll.query, secrets, poll.nowMs);
  if (fault === undefined) return undefined;
  const [, t = "", entries = ""] = SIGNATURE_FORM.exec(poll.signature ?? "") ?? [];
  const hasDigest = (key: string | Buffer, text: string) =>
    entries.includes(`v1=${createHmac("sha256", key).update(text).digest("hex")}`);
  const found = SIGNATURE_FAULT_WORDS[fault];
  if (fault === "stale") {
    const seconds = Math.round(Number(t) - poll.nowMs / 1000);
    const cause =
      t.length > 11
        ? "t is in milliseconds, not in seconds"
        : `the bridge's clock is ${Math.abs(seconds)} seconds ${seconds < 0 ? "behind" : "ahead of"} this machine's clock`;
    return { fault, found, cause, isKeyRight: true };
  }
  for (const [what, textOf] of TEXTS) {
    if (secrets.some((secret) => hasDigest(secret, textOf(t, poll)))) {
      return { fault, found, cause: `the signature covers ${what}`, isKeyRight: true };
    }
  }
  for (const { as, key } of secrets.flatMap(keyMistakes)) {
    if (hasDigest(key, `${t}.${poll.query}`)) {
      return { fault, found, cause: `the digest is computed with ${as}`, isKeyRight: false };
    }
  }
  return { fault, found, isKeyRight: false };
}

function plainQuery(parameters: PollRequest["parameters"]): string {
  return parameters.map(([name, value]) => `${name}=${value}`).join("&");
}
