import { lookup } from "node:dns/promises";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { rootCertificates, TLSSocket } from "node:tls";
import { tlsFactsOf, type TlsFacts } from "./open-tls";

/** Maximum number of bytes of an answer that are read. The service's answers to these requests are much shorter. */
const ANSWER_MAX_BYTES = 64 * 1_024;
/** Addresses of one name that are asked. */
export const WEB_ADDRESSES_MAX = 8;

export interface Probe {
  readonly url: URL;
  /** The address to connect to. */
  readonly address: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** PEM certificates to trust in addition to Node's root certificates. */
  readonly ca?: Buffer | undefined;
}

/** An answer, or the reason why there is none, with an error code. */
export type Probed = HttpAnswer | { readonly failed: string; readonly code: string };

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The handshake; undefined for plain HTTP. */
  readonly tls: TlsFacts | undefined;
  /** This machine's address on the connection. */
  readonly localAddress: string;
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
}

/** Returns the addresses of a URL's host. Rejects when the name cannot be looked up. */
export async function addressesOf({ hostname }: URL): Promise<readonly string[]> {
  const host = hostname.replaceAll(/[[\]]/g, "");
  if (isIP(host) !== 0) return [host];
  const found = await lookup(host, { all: true });
  return [...new Set(found.map(({ address }) => address))].slice(0, WEB_ADDRESSES_MAX);
}

/** Returns the URL of a path below a base URL. */
export function below(base: URL, path: string): URL {
  return new URL(`${base.pathname.replace(/\/+$/, "")}${path}`, base.origin);
}

/** Returns the URL of a path below the hooks of a workspace. */
export function hookUrl(base: URL, workspaceId: string, path: string): URL {
  return below(base, `/hooks/${workspaceId}${path}`);
}

/**
 * Sends one request to one address, and follows no redirect. An invalid certificate does not stop the request: `tls`
 * says why it is invalid. So the request must not contain a secret.
 */
export function probeHttp(probe: Probe, withinMs: number): Promise<Probed> {
  const { url, address, method = "GET", headers = {}, body, ca } = probe;
  const host = url.hostname.replaceAll(/[[\]]/g, "");
  const isTls = url.protocol === "https:";
  return new Promise((resolve) => {
    let tls: TlsFacts | undefined;
    let localAddress = "";
    const sentAtMs = Date.now();
    const sent = (isTls ? httpsRequest : httpRequest)({
      host: address,
      port: url.port || (isTls ? 443 : 80),
      path: `${url.pathname}${url.search}`,
      method,
      headers: { Host: url.host, ...headers, ...(body && { "Content-Length": String(body.length) }) },
      agent: false,
      // The certificate must contain the name from the URL, although the request connects to an address.
      ...(isTls && { servername: isIP(host) === 0 ? host : "", rejectUnauthorized: false }),
      ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
    });
    const timer = setTimeout(() => {
      fail({ message: `no answer within ${withinMs / 1_000} seconds`, code: "ETIMEDOUT" });
    }, withinMs);
    function fail({ message, code = "" }: { message: string; code?: string }): void {
      clearTimeout(timer);
      resolve({ failed: message || code, code });
      sent.destroy();
    }
    sent.on("socket", (socket) => {
      socket.once(isTls ? "secureConnect" : "connect", () => {
        localAddress = socket.localAddress ?? "";
        if (socket instanceof TLSSocket) tls = tlsFactsOf(socket);
      });
    });
    sent.on("error", fail);
    sent.on("response", (response) => {
      const { statusCode: status = 0, headers: answered } = response;
      const answeredAtMs = Date.now();
      let text = "";
      const end = (): void => {
        clearTimeout(timer);
        resolve({ status, headers: answered, body: text, tls, localAddress, sentAtMs, answeredAtMs });
        sent.destroy();
      };
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString("utf8");
        if (text.length > ANSWER_MAX_BYTES) end();
      });
      response.on("error", fail);
      response.on("end", end);
    });
    sent.end(body);
  });
}
