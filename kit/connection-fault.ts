import { types } from "node:util";

/** Advice about failed connections, by the code or the message of the cause. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /^ECONNREFUSED$/,
    "no program listens there: check the host and the port, and that the program is running",
  ],
  [
    /^ENOTFOUND$/,
    "the host name is unknown: check the host; behind a proxy, set HTTPS_PROXY and NODE_USE_ENV_PROXY=1",
  ],
  [/^EAI_AGAIN$/, "the DNS server does not answer: check this machine's network"],
  [/^E(HOST|NET)UNREACH$/, "there is no route to the host: check the network, the firewall and the proxy"],
  [/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, "check the host, the port and the firewall"],
  [
    /^(EPROTO|ERR_SSL_)/,
    "there is no TLS at this port: check the port, and whether the address begins with http://",
  ],
  [/ALTNAME/, "the certificate is for another host: check the host"],
  [/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/, "check the certificate, and this machine's clock"],
  [/CERT|SIGNATURE|ISSUER/, "set NODE_EXTRA_CA_CERTS to the PEM file of your own authority, if you have one"],
  [/^HPE_|HTTP\/1\.1 protocol/, "there is no HTTP/1.1 server at this port: check the port"],
  [/^UND_ERR_SOCKET$/, "check the port, and whether the address begins with https://"],
  [/^bad port$/, "fetch blocks this port: choose a different port"],
  [/[Pp]roxy/, "check the proxy that HTTP_PROXY or HTTPS_PROXY names"],
];
/** Codes of TLS faults whose message is an internal trace of OpenSSL. */
const TRACED = /^(EPROTO|ERR_SSL_)/;
const MESSAGE_MAX_CHARACTERS = 200;

/**
 * Returns why a call of `fetch` got no answer, with advice if the cause is known. The text can name addresses, but
 * never contains a part of the request or of the answer.
 */
export function connectionFault(error: unknown): string {
  const cause = deepestCause(error);
  const code = typeof cause?.code === "string" ? cause.code : "";
  const message = messageOf(cause);
  const words = message === "" || TRACED.test(code) ? code : message;
  const hint = HINTS.find(([form]) => form.test(code) || form.test(message))?.[1];
  return `the connection failed: ${words || "unknown reason"}${hint === undefined ? "" : ` (${hint})`}`;
}

interface Cause extends Error {
  readonly code?: unknown;
  /** One error for each address of the host, if the host has several addresses and all of them failed. */
  readonly errors?: readonly Error[];
}

/** Returns the underlying cause of an error of `fetch`: the error itself says only that the fetch failed. */
function deepestCause(error: unknown): Cause | undefined {
  let cause = error;
  while (types.isNativeError(cause) && types.isNativeError(cause.cause)) cause = cause.cause;
  return types.isNativeError(cause) ? cause : undefined;
}

function messageOf(cause: Cause | undefined): string {
  const messages = cause?.errors?.map(({ message }) => message) ?? [];
  const whole = cause?.message || messages.join(", ");
  return [...whole.replaceAll(/\s+/g, " ").trim()].slice(0, MESSAGE_MAX_CHARACTERS).join("");
}
