import { createHmac, timingSafeEqual, type Hmac, type KeyObject } from "node:crypto";
import { SIGNATURE_FORM } from "../../contract/forms";

/** A `Service-Signature` header in the format of the contract. */
export interface ParsedSignature {
  /** The digits of the timestamp exactly as sent, because they are part of the signed text. */
  readonly timestamp: string;
  /** The `v1=` digests, 32 bytes each. Digests of any other length cannot match, and are omitted. */
  readonly digests: readonly Buffer[];
}

const DIGEST_HEX_LENGTH = 64;

/**
 * Parses `t=<unix seconds>,v1=<hex>[,v1=<hex>…]` (bridge guide, "Signatures"). Hex digits may be in either
 * case. Returns undefined for any other form, e.g. two headers that were joined into one header.
 */
export function parseSignature(header: string): ParsedSignature | undefined {
  const form = SIGNATURE_FORM.exec(header);
  if (form === null) return undefined;
  const [, timestamp = "", entries = ""] = form;
  const digests = entries
    .slice(",v1=".length)
    .split(",v1=")
    .filter((hex) => hex.length === DIGEST_HEX_LENGTH)
    .map((hex) => Buffer.from(hex, "hex"));
  return { timestamp, digests };
}

/** Returns the HMAC-SHA256 over `<t>.<raw text>` (bridge guide, "Signatures"). */
function hmacOf(key: KeyObject, timestamp: string, raw: Uint8Array | string): Hmac {
  return createHmac("sha256", key).update(`${timestamp}.`).update(raw);
}

/**
 * Whether any of the digests is valid for any of the keys (bridge guide, "Signatures"). Digests are compared in
 * constant time, against timing attacks.
 */
export function signatureMatches(
  signature: ParsedSignature,
  raw: Uint8Array | string,
  keys: readonly KeyObject[],
): boolean {
  return keys.some((key) => {
    const expected = hmacOf(key, signature.timestamp, raw).digest();
    return signature.digests.some((sent) => timingSafeEqual(sent, expected));
  });
}

/**
 * Returns the `Service-Signature` header for bytes that the service sends. The header has one `v1=` entry for
 * each key, in the order of `keys`: newest first.
 *
 * @param nowMs the service clock, ms since the epoch
 */
export function signatureHeader(raw: Uint8Array | string, keys: readonly KeyObject[], nowMs: number): string {
  const timestamp = String(Math.floor(nowMs / 1000));
  const entries = keys.map((key) => `v1=${hmacOf(key, timestamp, raw).digest("hex")}`);
  return [`t=${timestamp}`, ...entries].join(",");
}
