import { timingSafeEqual } from "node:crypto";
import { SIGNATURE_FORM } from "../../contract/forms";
import type { HmacKey } from "./hmac-key";

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
  const digests: Buffer[] = [];
  for (const hex of entries.split(",v1=")) {
    if (hex.length === DIGEST_HEX_LENGTH) digests.push(Buffer.from(hex, "hex"));
  }
  return { timestamp, digests };
}

/**
 * Whether any of the digests is the HMAC-SHA256 over `<t>.<raw text>` with any of the keys (bridge guide,
 * "Signatures"). Digests are compared in constant time, against timing attacks.
 */
export function signatureMatches(
  signature: ParsedSignature,
  raw: Uint8Array | string,
  keys: readonly HmacKey[],
): boolean {
  return keys.some((key) => {
    const expected = Buffer.from(key.digest(`${signature.timestamp}.`, raw, "binary"), "latin1");
    return signature.digests.some((sent) => timingSafeEqual(sent, expected));
  });
}

/**
 * Returns the `Service-Signature` header for bytes that the service sends. The header has one `v1=` entry for
 * each key, in the order of `keys`: newest first.
 *
 * @param nowMs the service clock, ms since the epoch
 */
export function signatureHeader(raw: Uint8Array | string, keys: readonly HmacKey[], nowMs: number): string {
  const timestamp = String(Math.floor(nowMs / 1000));
  let header = `t=${timestamp}`;
  for (const key of keys) header += `,v1=${key.digest(`${timestamp}.`, raw, "hex")}`;
  return header;
}
