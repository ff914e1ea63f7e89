import { createHmac, timingSafeEqual, type Hmac, type KeyObject } from "node:crypto";

/** A `Service-Signature` header that has the contract's form. */
export interface ParsedSignature {
  /** The timestamp's digits exactly as sent: they are part of the signed text. */
  readonly timestamp: string;
  /** The `v1=` digests, 32 bytes each; entries of another length can match nothing and are left out. */
  readonly digests: readonly Buffer[];
}

const HEADER_FORM = /^t=([0-9]+)((?:,v1=[0-9a-fA-F]+)+)$/;
const DIGEST_HEX_LENGTH = 64;

/**
 * Reads `t=<unix seconds>,v1=<hex>[,v1=<hex>…]` (Authentication 1). Hex digits
 * may be in either case. Answers undefined for any other form, such as two
 * headers that were joined into one.
 */
export function parseSignature(header: string): ParsedSignature | undefined {
  const form = HEADER_FORM.exec(header);
  if (form === null) return undefined;
  const [, timestamp = "", entries = ""] = form;
  const digests = entries
    .slice(",v1=".length)
    .split(",v1=")
    .filter((hex) => hex.length === DIGEST_HEX_LENGTH)
    .map((hex) => Buffer.from(hex, "hex"));
  return { timestamp, digests };
}

/** HMAC-SHA256 over `<t>.<raw text>` (Authentication 2). */
function hmacOf(key: KeyObject, timestamp: string, raw: Uint8Array | string): Hmac {
  return createHmac("sha256", key).update(`${timestamp}.`).update(raw);
}

/**
 * Whether any of the digests is right under any of the keys (Authentication 6).
 * Digests are compared in constant time.
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
 * The `Service-Signature` header of bytes that the service sends: one `v1=`
 * entry a key, in the order of the keys, which is newest first.
 *
 * @param nowMs the service clock, ms since the epoch
 */
export function signatureHeader(raw: Uint8Array | string, keys: readonly KeyObject[], nowMs: number): string {
  const timestamp = String(Math.floor(nowMs / 1000));
  const entries = keys.map((key) => `v1=${hmacOf(key, timestamp, raw).digest("hex")}`);
  return [`t=${timestamp}`, ...entries].join(",");
}
