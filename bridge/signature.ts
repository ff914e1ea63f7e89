import { createHmac, timingSafeEqual } from "node:crypto";

/** The header that carries a signature, in both directions ("Authentication"). */
export const SIGNATURE_HEADER = "Service-Signature";
/** How far a signed timestamp may be from the local clock, either way. */
export const TIMESTAMP_TOLERANCE_MS = 5 * 60_000;

/** One secret, or during a rotation both, the new one first; never none, and never an empty one. */
export type SecretList = string | readonly string[];

/**
 * Why a signature does not hold:
 * `missing`: there is no header;
 * `malformed`: it does not have the contract's form;
 * `wrong`: no entry is right under any secret;
 * `stale`: it is right, and its timestamp is over 5 minutes from the local clock.
 */
export type SignatureFault = "missing" | "malformed" | "wrong" | "stale";

const HEADER_FORM = /^t=([0-9]+)((?:,v1=[0-9a-fA-F]+)+)$/;
const DIGEST_HEX_LENGTH = 64;

/**
 * Makes a `Service-Signature` header, one `v1=` entry a secret in their order (Authentication 1, 2, 4).
 *
 * @param raw what is signed: the exact bytes of a body; of a poll the query string as it is sent, without
 *   the `?`, or the empty string. A string is signed as UTF-8
 * @param nowMs the local clock, ms since the epoch
 * @throws RangeError when there is no secret, or an empty one
 */
export function sign(raw: Uint8Array | string, secrets: SecretList, nowMs: number = Date.now()): string {
  const timestamp = String(Math.floor(nowMs / 1000));
  const entries = checkSecrets(secrets).map(
    (secret) => `v1=${digest(secret, timestamp, raw).toString("hex")}`,
  );
  return [`t=${timestamp}`, ...entries].join(",");
}

/**
 * Checks the `Service-Signature` header of a push or of a page of events (Authentication 3, 5, 6). Any one
 * right entry under any one secret is sufficient; digests are compared in constant time.
 *
 * @param header as it came; undefined or null where there was none
 * @param raw the exact bytes of the body, never a parsed body made text again
 * @param nowMs the local clock, ms since the epoch
 * @returns undefined when the signature holds, else why it does not
 * @throws RangeError when there is no secret, or an empty one
 */
export function verify(
  header: string | null | undefined,
  raw: Uint8Array | string,
  secrets: SecretList,
  nowMs: number = Date.now(),
): SignatureFault | undefined {
  const accepted = checkSecrets(secrets);
  if (header === undefined || header === null) return "missing";
  const form = HEADER_FORM.exec(header);
  if (form === null) return "malformed";
  const [, timestamp = "", entries = ""] = form;
  const sent = entries
    .slice(",v1=".length)
    .split(",v1=")
    .filter((hex) => hex.length === DIGEST_HEX_LENGTH)
    .map((hex) => Buffer.from(hex, "hex"));
  const isRight = accepted.some((secret) => {
    const expected = digest(secret, timestamp, raw);
    return sent.some((each) => timingSafeEqual(each, expected));
  });
  if (!isRight) return "wrong";
  return Math.abs(nowMs - Number(timestamp) * 1000) > TIMESTAMP_TOLERANCE_MS ? "stale" : undefined;
}

/** What is wrong with a signature, and what to look at, in words for people. */
export const SIGNATURE_FAULT_WORDS: Readonly<Record<SignatureFault, string>> = {
  missing: "there is no Service-Signature header",
  malformed: "Service-Signature must be t=<unix seconds>,v1=<hex>, with one or more v1 entries",
  wrong:
    "Service-Signature is not right under any secret: check that the secret is this workspace's, " +
    "and that nothing on the way changes the body",
  stale: "Service-Signature was made more than 5 minutes from the local clock: check the clocks",
};

/** HMAC-SHA256 over `<t>.<raw>`. */
function digest(secret: string, timestamp: string, raw: Uint8Array | string): Buffer {
  return createHmac("sha256", secret).update(`${timestamp}.`).update(raw).digest();
}

/**
 * The secrets as a list. An empty one would be one that everybody knows.
 *
 * @throws RangeError when there is none, or an empty one
 */
export function checkSecrets(secrets: SecretList): readonly string[] {
  const list = typeof secrets === "string" ? [secrets] : secrets;
  if (list.length === 0 || list.some((secret) => secret === "")) {
    throw new RangeError("a signing secret is missing: give the one that the dashboard showed");
  }
  return list;
}
