import { createHmac, timingSafeEqual } from "node:crypto";
import { SIGNATURE_FORM } from "../contract/forms";
import { staleTimestamp } from "../contract/timestamps";
import { TIMESTAMP_TOLERANCE_SECONDS } from "../contract/numbers";
import { secretFault } from "./secret-form";

/** Name of the header that carries a signature, in both directions (bridge guide, "Signatures"). */
export const SIGNATURE_HEADER = "Service-Signature";
/** Maximum difference between a signed timestamp and the local clock, in either direction, ms. */
export const TIMESTAMP_TOLERANCE_MS = TIMESTAMP_TOLERANCE_SECONDS * 1_000;

/**
 * One secret, or two during a rotation, the new secret first. A list contains at least one secret. Each secret is
 * exactly as the dashboard shows it.
 */
export type SecretList = string | readonly string[];

/**
 * The reason why a signature is rejected:
 * `missing`: there is no header;
 * `malformed`: the header does not have the contract's format;
 * `wrong`: no `v1=` entry is valid under any secret;
 * `stale`: an entry is valid, but the timestamp is more than 5 minutes from the local clock.
 */
export type SignatureFault = "missing" | "malformed" | "wrong" | "stale";

const DIGEST_HEX_LENGTH = 64;

/**
 * Returns the value of a `Service-Signature` header, with one `v1=` entry per secret, in the order of `secrets`
 * (bridge guide, "Signatures").
 *
 * @param raw the exact bytes of a body; for a poll, the query string as sent, without the `?`, possibly empty. A
 *   string is signed as UTF-8
 * @param nowMs the local clock, ms since the epoch
 * @throws RangeError when there is no secret, or when a secret is invalid
 */
export function sign(raw: Uint8Array | string, secrets: SecretList, nowMs: number = Date.now()): string {
  const timestamp = String(Math.floor(nowMs / 1000));
  const entries = checkSecrets(secrets).map(
    (secret) => `v1=${digest(secret, timestamp, raw).toString("hex")}`,
  );
  return [`t=${timestamp}`, ...entries].join(",");
}

/**
 * Checks the `Service-Signature` header of a push or of a page of events (bridge guide, "Signatures"). The signature is
 * valid if any `v1=` entry is valid under any secret. Compares digests in constant time.
 *
 * @param header the header as received; undefined or null if there is no header
 * @param raw the exact bytes of the body, never a parsed body that was serialized again
 * @param nowMs the local clock, ms since the epoch
 * @returns undefined when the signature is valid, otherwise the reason why the signature is invalid
 * @throws RangeError when there is no secret, or when a secret is invalid
 */
export function verify(
  header: string | null | undefined,
  raw: Uint8Array | string,
  secrets: SecretList,
  nowMs: number = Date.now(),
): SignatureFault | undefined {
  const accepted = checkSecrets(secrets);
  if (header === undefined || header === null) return "missing";
  const form = SIGNATURE_FORM.exec(header);
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

/** The error message for each fault of a signature. Some messages also say what to check. */
export const SIGNATURE_FAULT_WORDS: Readonly<Record<SignatureFault, string>> = {
  missing: "there is no Service-Signature header",
  malformed: "Service-Signature must be t=<unix seconds>,v1=<hex>, with one or more v1 entries",
  wrong:
    "Service-Signature is not valid under any secret: check that the secret is this workspace's, " +
    "and that no proxy changes the body",
  stale: "the timestamp of Service-Signature is more than 5 minutes from the local clock: check both clocks",
};

/**
 * Returns the error message for a fault of a signature. If the signature is stale, the message says how far the
 * timestamp is from the local clock.
 *
 * @param header the header as received
 * @param nowMs the local clock, ms since the epoch
 */
export function explainFault(
  fault: SignatureFault,
  header: string | null | undefined,
  nowMs: number = Date.now(),
): string {
  const timestamp = fault === "stale" ? SIGNATURE_FORM.exec(header ?? "")?.[1] : undefined;
  if (timestamp === undefined) return SIGNATURE_FAULT_WORDS[fault];
  return `Service-Signature: ${staleTimestamp(timestamp, nowMs, "the local clock")}`;
}

/** Returns the HMAC-SHA256 of `<timestamp>.<raw>`. */
function digest(secret: string, timestamp: string, raw: Uint8Array | string): Buffer {
  return createHmac("sha256", secret).update(`${timestamp}.`).update(raw).digest();
}

/**
 * Returns the secrets as a list. Rejects an empty secret, because anybody could sign with it. Also rejects a secret
 * that begins or ends with a stray character, e.g. a file's final line break: every signature would be wrong.
 *
 * @throws RangeError when there is no secret, or when a secret is invalid
 */
export function checkSecrets(secrets: SecretList): readonly string[] {
  const list = typeof secrets === "string" ? [secrets] : secrets;
  const fault =
    list.length === 0 ? secretFault("") : list.map(secretFault).find((each) => each !== undefined);
  if (fault !== undefined) throw new RangeError(fault);
  return list;
}
