import { signatureOf } from "../harness/bridge";

/**
 * What a program must do after an answer:
 *
 * - `ok`: continue as after a regular answer.
 * - `retry`: make the same request again.
 * - `stop`: do not make the same request again. If the request was a poll, the program may exit, or report the answer
 *   and poll less often.
 * - `wait`: wait so long that no test sees the next poll. An event is dropped.
 */
export type Reaction = "ok" | "retry" | "stop" | "wait";

/** An answer that a proxy, a load balancer or a faulty server can give instead of the service. */
export interface OddAnswer {
  readonly name: string;
  /** The bytes of the answer. */
  readonly bytes: (secret: string) => Buffer;
  /**
   * What happens after the bytes are sent. By default, the connection is closed. `answer`: the regular answer follows.
   * `flood`: bytes follow without end. `hold`: nothing follows, and the connection stays open.
   */
  readonly then?: "reset" | "answer" | "flood" | "hold";
  /**
   * The required reaction when a poll gets this answer; absent if the answer makes no sense for a poll. Likewise,
   * `send` and `push` can be absent.
   */
  readonly poll?: Reaction;
  /**
   * The required reaction when an event gets this answer. In any case, the program must still send later events.
   */
  readonly send?: Reaction;
  /** The required reaction when a push gets this answer. Every answer except a `2xx` is a failure. */
  readonly push?: "ok" | "retry";
  /** Number of requests with the same text that get this answer; 1 by default. */
  readonly times?: number;
  /** Minimum ms until the request may be repeated, according to `Retry-After`. */
  readonly waitMs?: number;
}

const HTML = "<html><head><title>Bad gateway</title></head><body>nginx</body></html>";
const PLEASE_WAIT = "<p>Le serveur est indisponible : réessayez</p>";
const NOT_A_PAGE = JSON.stringify({ events: 7, next: [], hasMore: "no" });
/** Bytes that are not UTF-8. */
const LATIN_1 = Buffer.from(PLEASE_WAIT, "latin1");
/**
 * Seconds until the date in `Retry-After`. Without this header, a program waits for less time after its first failure.
 */
const DATE_IN_S = 4;

/** Returns the bytes of an answer. It is complete unless `headers` contains a larger `Content-Length`. */
function answer(
  status: string,
  body: string | Buffer = HTML,
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const all = {
    "Content-Type": "text/html",
    "Content-Length": String(Buffer.byteLength(body)),
    Connection: "close",
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status}\r\n${lines.join("")}\r\n`, "latin1"),
    Buffer.from(body),
  ]);
}

/** Returns a `200` whose signature is valid. */
const signed = (body: string | Buffer) => (secret: string) =>
  answer("200 OK", body, { "Service-Signature": signatureOf(secret, Buffer.from(body)) });

const RETRY = { poll: "retry", send: "retry", push: "retry" } as const;
const STOP = { poll: "stop", send: "stop", push: "retry" } as const;

const retryAfter = (name: string, value: () => string, waitMs = 0): OddAnswer => ({
  name: `503 with ${name} in Retry-After`,
  bytes: () => answer("503 Service Unavailable", HTML, { "Retry-After": value() }),
  ...RETRY,
  waitMs,
});

const inSeconds = (seconds: number) => new Date(Math.ceil(Date.now() / 1000 + seconds) * 1000).toUTCString();

/** Every odd answer, with the reactions that the contract requires (bridge guide, "Retries", "Errors" and "Poll"). */
export const ODD_ANSWERS: readonly OddAnswer[] = [
  retryAfter("a date", () => inSeconds(DATE_IN_S), DATE_IN_S * 1000),
  retryAfter("a date in the past", () => inSeconds(-3600)),
  retryAfter("a fraction", () => "1.5", 1500),
  retryAfter("a whole number", () => "1", 1000),
  retryAfter("a negative number", () => "-5"),
  retryAfter("words", () => "soon"),
  retryAfter("nothing", () => ""),
  retryAfter("a word that is no number", () => "NaN"),
  { ...retryAfter("a huge number", () => "99999999999"), poll: "wait", send: "wait" },
  {
    name: "429 with an HTML page",
    bytes: () => answer("429 Too Many Requests"),
    ...RETRY,
  },
  { name: "502 with an HTML page", bytes: () => answer("502 Bad Gateway"), ...RETRY },
  { name: "502 that is not UTF-8", bytes: () => answer("502 Bad Gateway", LATIN_1), ...RETRY },
  { name: "503 with an empty body", bytes: () => answer("503 Service Unavailable", ""), ...RETRY },
  {
    name: "502 whose body is cut off",
    bytes: () => answer("502 Bad Gateway", HTML, { "Content-Length": "500" }),
    ...RETRY,
  },
  {
    name: "502 whose chunks are cut off",
    bytes: () => Buffer.from("HTTP/1.1 502 Bad Gateway\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n<html>"),
    ...RETRY,
  },
  {
    name: "502 whose chunk length is not a number",
    bytes: () => Buffer.from("HTTP/1.1 502 Bad Gateway\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n<html>"),
    ...RETRY,
  },
  {
    name: "502 of HTTP/1.0 without a length",
    bytes: () => Buffer.from(`HTTP/1.0 502 Bad Gateway\r\n\r\n${HTML}`),
    ...RETRY,
  },
  {
    name: "503 with a header of 200 KB",
    bytes: () => answer("503 Service Unavailable", HTML, { "X-Long": "x".repeat(200_000) }),
    ...RETRY,
  },
  {
    name: "503 with 5,000 headers",
    bytes: () =>
      answer(
        "503 Service Unavailable",
        HTML,
        Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`X-${i}`, "x"])),
      ),
    ...RETRY,
  },
  {
    name: "503 with a body that does not end",
    bytes: () => answer("503 Service Unavailable", HTML, { "Content-Length": "1099511627776" }),
    then: "flood",
    ...RETRY,
  },
  { name: "a banner of SSH", bytes: () => Buffer.from("SSH-2.0-OpenSSH_9.2p1\r\n"), ...RETRY },
  { name: "the end of the connection", bytes: () => Buffer.alloc(0), ...RETRY },
  { name: "a reset", bytes: () => Buffer.alloc(0), then: "reset", ...RETRY },
  {
    name: "a reset after the headers",
    bytes: () => answer("502 Bad Gateway", HTML, { "Content-Length": "500" }),
    then: "reset",
    ...RETRY,
  },
  { name: "no answer", bytes: () => Buffer.alloc(0), then: "hold", ...RETRY },

  {
    name: "an informational 103, then the regular answer",
    bytes: () => Buffer.from("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"),
    then: "answer",
    poll: "ok",
    send: "ok",
    push: "ok",
  },
  {
    name: "100 twice, then the regular answer",
    bytes: () => Buffer.from("HTTP/1.1 100 Continue\r\n\r\n".repeat(2)),
    then: "answer",
    poll: "ok",
    send: "ok",
    push: "ok",
  },
  { name: "202 with an empty body", bytes: () => answer("202 Accepted", ""), send: "ok", push: "ok" },
  { name: "202 that is not UTF-8", bytes: () => answer("202 Accepted", LATIN_1), send: "ok", push: "ok" },
  { name: "200 with an HTML page", bytes: () => answer("200 OK"), poll: "retry", send: "stop", push: "ok" },
  { name: "200 with an empty body", bytes: () => answer("200 OK", ""), poll: "retry", send: "stop" },
  {
    name: "200 that is cut off",
    bytes: () => answer("200 OK", "{", { "Content-Length": "9" }),
    poll: "retry",
  },
  {
    name: "200 whose signature has a time of 5,000 digits",
    bytes: () =>
      answer("200 OK", "{}", { "Service-Signature": `t=${"9".repeat(5_000)},v1=${"0".repeat(64)}` }),
    poll: "retry",
  },
  {
    name: "200 whose signature is not ASCII",
    bytes: () => answer("200 OK", "{}", { "Service-Signature": "t=1,v1=é" }),
    poll: "retry",
  },
  { name: "200 with JSON that is not a page", bytes: () => answer("200 OK", NOT_A_PAGE), poll: "retry" },
  { name: "200 with signed JSON that is not a page", bytes: signed(NOT_A_PAGE), poll: "retry" },
  { name: "200 with a signed list", bytes: signed("[]"), poll: "retry" },
  { name: "200 with signed text that is not JSON", bytes: signed(HTML), poll: "retry" },
  { name: "200 with signed bytes that are not UTF-8", bytes: signed(LATIN_1), poll: "retry" },

  {
    name: "302 to another address",
    bytes: () => answer("302 Found", "", { Location: "/elsewhere" }),
    ...STOP,
  },
  {
    name: "307 to another address",
    bytes: () => answer("307 Temporary Redirect", "", { Location: "/elsewhere" }),
    ...STOP,
  },
  { name: "401 with an empty body", bytes: () => answer("401 Unauthorized", ""), ...STOP },
  { name: "403 that is not UTF-8", bytes: () => answer("403 Forbidden", LATIN_1), ...STOP },
  { name: "404 with an HTML page", bytes: () => answer("404 Not Found"), ...STOP },
  {
    name: "400 with JSON of another form",
    bytes: () => answer("400 Bad Request", '[{"message":null}]'),
    ...STOP,
  },
];
