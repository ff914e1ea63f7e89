const LONG = "x".repeat(17_000);

const head = (host: string, lines: string): string =>
  `GET /hooks/x HTTP/1.1\r\nHost: ${host}\r\n${lines}\r\n`;

/** Requests that a proxy must forward, because an edge answers them: a description, the bytes, and the edge's status. */
export const FORWARDED: readonly (readonly [string, (host: string) => string, number])[] = [
  ["17 KB of headers", (host) => head(host, `X-Long: ${LONG}\r\n`), 431],
  ["a path of 17 KB", (host) => `GET /${LONG} HTTP/1.1\r\nHost: ${host}\r\n\r\n`, 431],
  ["150 headers", (host) => head(host, "X: a\r\n".repeat(150)), 200],
];

/** Requests that a proxy answers itself: a description, the bytes, and the status. */
export const ANSWERED: readonly (readonly [string, (host: string) => string, number])[] = [
  ["is not HTTP", () => "nonsense\r\n\r\n", 400],
  [
    "has a chunk without a length",
    (host) => `POST /hooks/x HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
    400,
  ],
  ["does not arrive in time", (host) => `GET /hooks/x HTTP/1.1\r\nHost: ${host}\r\nX-`, 408],
  [
    "has more headers than the proxy can read",
    (host) => head(host, `X-Long: ${"x".repeat(70_000)}\r\n`),
    431,
  ],
];
