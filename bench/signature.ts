import { createHmac, type KeyObject } from "node:crypto";

/** Returns the `Service-Signature` header for the bytes that a bridge or the service sends. */
export function signatureOf(key: string | KeyObject, raw: string | Buffer, t: number = nowSeconds()): string {
  return `t=${t},v1=${createHmac("sha256", key).update(`${t}.`).update(raw).digest("hex")}`;
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
