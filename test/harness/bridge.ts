import { createHmac } from "node:crypto";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import type { TestWorkspace } from "./service";

/** An HTTP answer with the exact bytes of the body. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly json: unknown;
}

/**
 * Returns a `Service-Signature` header. This implementation is separate from the service's, and is also checked
 * with vectors from openssl.
 */
export function signatureOf(secret: string, raw: string | Buffer, t: number | string = nowSeconds()): string {
  return `t=${t},v1=${createHmac("sha256", secret).update(`${t}.`).update(raw).digest("hex")}`;
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

export interface SendOptions {
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
  readonly method?: string;
  /** Local address of the client, e.g. 127.0.0.7. The rate limit counts each address separately. */
  readonly from?: string;
}

/** Sends one request on a new connection. `path` is sent exactly as given. */
export function send(base: string, path: string, options: SendOptions = {}): Promise<Answer> {
  const { hostname, port } = new URL(base);
  const { method = "GET", from: localAddress, body: sent } = options;
  const headers = { ...options.headers } as Record<string, string>;
  const where = { hostname, port, path, agent: false, ...(localAddress && { localAddress }) };
  return new Promise((resolve, reject) => {
    const request = httpRequest({ ...where, method, headers });
    request.on("error", reject);
    request.on("response", (response) => {
      const answer = (body: Buffer): Answer => ({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body,
        get json() {
          return JSON.parse(body.toString("utf8")) as unknown;
        },
      });
      buffer(response).then((body) => resolve(answer(body)), reject);
    });
    request.end(sent);
  });
}

/** Posts an inbound event. Signs the event with the current time, unless `headers` contains another signature. */
export function post(
  base: string,
  { id, secret }: TestWorkspace,
  event: object | string | Buffer,
  options: SendOptions = {},
): Promise<Answer> {
  const body = typeof event === "string" || Buffer.isBuffer(event) ? event : JSON.stringify(event);
  const own = { "Content-Type": "application/json", "Service-Signature": signatureOf(secret, body) };
  const headers = { ...own, ...options.headers };
  return send(base, `/hooks/${id}`, { method: "POST", body, ...options, headers });
}

/**
 * Polls with a query string. Signs the query string with the current time, unless `headers` contains another signature.
 */
export function poll(base: string, { id, secret }: TestWorkspace, query = "", options: SendOptions = {}) {
  const headers = { "Service-Signature": signatureOf(secret, query), ...options.headers };
  return send(base, `/hooks/${id}/events${query && `?${query}`}`, { ...options, headers });
}
