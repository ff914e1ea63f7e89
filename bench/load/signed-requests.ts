import { createHmac, type KeyObject } from "node:crypto";
import type { Workspace } from "../core-clients";

/** Returns a signed POST. The body must be ASCII, because its length is counted in characters. */
export function signedPost({ id, secret, address }: Workspace, body: string, t?: number): string {
  return (
    `POST /hooks/${id} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: ${address}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\nService-Signature: ${signatureOf(secret, body, t)}\r\n\r\n${body}`
  );
}

export function signedPoll({ id, secret, address }: Workspace, query: string, t?: number): string {
  return (
    `GET /hooks/${id}/events?${query} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: ${address}\r\n` +
    `Service-Signature: ${signatureOf(secret, query, t)}\r\n\r\n`
  );
}

/** Returns the `Service-Signature` header for `raw`, which is a body or the query string of a poll. */
export function signatureOf(key: string | KeyObject, raw: string | Buffer, t: number = nowSeconds()): string {
  return `t=${t},v1=${createHmac("sha256", key).update(`${t}.`).update(raw).digest("hex")}`;
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
