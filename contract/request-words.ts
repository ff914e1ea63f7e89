import {
  ADDRESS_REQUESTS_PER_SECOND,
  BODY_MAX_BYTES,
  NETWORK_REQUESTS_PER_SECOND,
  TIMESTAMP_TOLERANCE_SECONDS,
  WORKSPACE_REQUESTS_PER_SECOND,
} from "./numbers";
import type { RefusalKind, SignatureCause } from "./requests";
import { durationOf } from "./timestamps";

/** The reason why a request was refused, and the fix for the bridge's developer. Both are sentences. */
export interface RefusalWords {
  readonly reason: string;
  readonly fix: string;
}

/** The facts about a refused request from which the sentences are composed. */
export interface RefusalFacts {
  readonly kind: RefusalKind;
  readonly message: string;
  readonly clockSeconds: number;
  readonly bytes: number;
  readonly cause: SignatureCause | null;
  readonly missingKey: string;
}

const EXACT_BYTES = "Sign exactly the bytes that you send.";
const WITH_DOT = "Sign <t>.<body>: the timestamp, a dot, and the exact bytes of the body.";
const WHOLE_HEADER = "Send t=<Unix seconds>,v1=<hex> and nothing else.";
const AS_TEXT = "Use the characters of the secret as the key, without decoding them.";

const CAUSES: Readonly<Record<SignatureCause, readonly [reason: string, fix: string]>> = {
  missing: [
    "The request has no Service-Signature header.",
    "Sign every request, and check that no proxy removes the header.",
  ],
  "repeated-header": ["The request has more than one signature.", "Send the header once, with one t= entry."],
  spaces: ["The header contains spaces.", "Write t=…,v1=… without spaces."],
  "name-in-value": ["The value of the header begins with the name of the header.", WHOLE_HEADER],
  "without-timestamp": ["The header has no t= entry.", WHOLE_HEADER],
  "timestamp-form": [
    "The t= entry is not a whole number of Unix seconds.",
    "Send 10 digits, without a fraction and not as a date.",
  ],
  "without-digest": ["The header has no v1= entry.", WHOLE_HEADER],
  order: ["The header does not begin with t=.", "Send t= first, and then v1=."],
  "base64-digest": ["The digest is in base64.", "Send the digest in hex, which has 64 digits."],
  "digest-form": ["The digest is not hex, or the header has other entries.", WHOLE_HEADER],
  "digest-length": [
    "The digest does not have the 64 hex digits of SHA-256.",
    "Use HMAC-SHA256, and send the whole digest in hex.",
  ],
  "expired-secret": ["The bridge signed with a secret that has expired.", "Use the newest secret."],
  "secret-base64": ["The bridge decoded the secret as base64.", AS_TEXT],
  "secret-hex": ["The bridge decoded the secret as hex.", AS_TEXT],
  "secret-newline": [
    "The bridge signed with the secret and a line break after it.",
    "Remove the line break, e.g. at the end of the file with the secret.",
  ],
  "secret-quotes": [
    "The bridge signed with the secret in quotation marks.",
    "Remove the quotation marks, e.g. from the environment file.",
  ],
  "secret-empty": [
    "The bridge signed with an empty or undefined key.",
    "Check that the bridge has read its signing secret.",
  ],
  "body-only": ["The bridge signed the text without the timestamp.", WITH_DOT],
  separator: ["The bridge did not put a dot between the timestamp and the text.", WITH_DOT],
  milliseconds: [
    "The signed timestamp and the t= entry have different units.",
    "Use the same Unix seconds in both, which have 10 digits.",
  ],
  "newline-added": ["The bridge signed a line break after the text.", EXACT_BYTES],
  "newline-removed": ["The bridge did not sign the line break at the end of the body.", EXACT_BYTES],
  "re-serialized": [
    "The bridge signed different JSON than it sent: the same values, written differently.",
    "Serialize the body once, and sign and send the same bytes.",
  ],
  "empty-text": [
    "The bridge signed an empty text instead of the body or the query string.",
    "Sign the exact body of a post, or the exact query string of a poll.",
  ],
  "question-mark": ["The bridge signed the ? before the query string.", "Sign only what follows the ?."],
  url: [
    "The bridge signed the path of the URL.",
    "Sign only what follows the ?; without a query, sign an empty text.",
  ],
  "query-decoded": [
    "The bridge signed the decoded query string.",
    "Sign the query string exactly as it is sent.",
  ],
  swapped: ["The bridge swapped the key and the text.", "Use the secret as the key of the HMAC."],
  "not-hmac": ["The digest is a plain SHA-256 hash.", "Use HMAC-SHA256 with the secret as the key."],
  unknown: [
    "The digest does not match: the bridge used a different secret, or signed different bytes than it sent.",
    "Check that the secret is this workspace's, and compare the signed text with yours.",
  ],
};

/**
 * Matches characters that change the direction of the text after them. The name of an unknown field can contain such
 * characters.
 */
const TEXT_DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/**
 * Matches the message for a missing field. The field's name is in the contract, because only the contract's fields can
 * be missing.
 */
const REQUIRED = /^([a-z_.]+) is required$/;
/**
 * Matches the message for an unknown field of a post, or an unknown parameter of a poll. The sender chose the name in
 * this message.
 */
const UNKNOWN = / is not a known (field|parameter)$/;
const SLOW_DOWN = "Send more slowly, and retry after the time in Retry-After.";
/** Maximum clock difference in seconds. If a timestamp differs by more, it cannot be in seconds. */
const SECONDS_MAX = 1e11;

export function causeWords(cause: SignatureCause): RefusalWords {
  const [reason, fix] = CAUSES[cause];
  return { reason, fix };
}

/** @param clockSeconds seconds by which a signed timestamp is ahead of the service clock */
export function clockWords(clockSeconds: number): RefusalWords {
  if (clockSeconds > SECONDS_MAX) {
    return {
      reason: "The signed timestamp is in milliseconds.",
      fix: "Sign with Unix seconds, which have 10 digits.",
    };
  }
  const side = clockSeconds > 0 ? "ahead" : "behind";
  const most = TIMESTAMP_TOLERANCE_SECONDS / 60;
  return {
    reason: `The bridge's clock is ${durationOf(Math.abs(clockSeconds))} ${side}; at most ${most} minutes are allowed.`,
    fix: "Set the clock of the bridge's machine, e.g. with NTP, and sign each attempt with the current time.",
  };
}

export function refusalWords(refused: RefusalFacts): RefusalWords {
  const { kind, message, bytes, cause, missingKey } = refused;
  switch (kind) {
    case "not-json":
      return {
        reason: message === "" ? "The body is not JSON." : `The body is not JSON: ${message}.`,
        fix: "Send one JSON object in UTF-8.",
      };
    case "invalid":
      return {
        reason: `${message.replaceAll(TEXT_DIRECTION, "\ufffd")}.`,
        fix: invalidFix(message),
      };
    case "signature":
      return causeWords(cause ?? "unknown");
    case "push-workspace":
      return {
        reason: "The bridge polled, but events are pushed to the target URL.",
        fix: "Stop polling, or clear the target URL.",
      };
    case "disconnected":
      return {
        reason: "The workspace is disconnected.",
        fix: "Connect the workspace, and give the bridge the new secret.",
      };
    case "timestamp":
      return clockWords(refused.clockSeconds);
    case "too-large":
      return {
        reason: `${bytes === 0 ? "The body is too large" : `The body has ${grouped(bytes)} bytes`}; at most ${grouped(BODY_MAX_BYTES)} are allowed.`,
        fix: "Send a shorter text.",
      };
    case "address-limit":
      return {
        reason: `More than ${ADDRESS_REQUESTS_PER_SECOND} requests in a second came from the bridge's address, or more than ${grouped(NETWORK_REQUESTS_PER_SECOND)} from its IPv6 network (/64).`,
        fix: SLOW_DOWN,
      };
    case "workspace-limit":
      return {
        reason: `More than ${WORKSPACE_REQUESTS_PER_SECOND} signed requests in a second came for the workspace.`,
        fix: SLOW_DOWN,
      };
    case "secret-unreadable":
      return {
        reason: `The service cannot read the signing secret: it lacks the key ${missingKey || "of the secret"}.`,
        fix: "Add the key to SECRETS_KEY, or connect the workspace again.",
      };
  }
}

function invalidFix(message: string): string {
  const [, missing] = REQUIRED.exec(message) ?? [];
  if (missing !== undefined) return `Add ${missing} to the body.`;
  const [, unknown] = UNKNOWN.exec(message) ?? [];
  if (unknown !== undefined) return `Remove the ${unknown}, or correct its name.`;
  return "Change the request; a retry gets the same answer.";
}

function grouped(count: number): string {
  return count.toLocaleString("en");
}
