import * as fc from "fast-check";
import { createAnswer } from "../../core/delivery/push-answer";
import { forAll } from "../harness/for-all";

const KB = 1024;
const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const CONFLICT = /conflicting Content-Lengths/;
const EARLY = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";

/** Reads an answer in pieces of `size` bytes; returns the answer's status and state, or the error message. */
function readIn(size: number, text: string): readonly [status: number, state: string] | string {
  const bytes = Buffer.from(text, "latin1");
  const answer = createAnswer();
  try {
    for (let at = 0; at < bytes.length && answer.state !== "spent"; at += size) {
      // If bytes follow the end of an answer, the connection is closed.
      if (answer.state === "ended") return [answer.status, "spent"];
      answer.read(bytes.subarray(at, at + size));
    }
    return [answer.status, answer.state];
  } catch (error) {
    return (error as Error).message;
  }
}

/** Answers, with their status and state after the last byte is read. */
const ANSWERS: readonly (readonly [what: string, text: string, status: number, state: string])[] = [
  ["no headers", "HTTP/1.1 204 No Content\r\n\r\n", 204, "ended"],
  ["no reason phrase", "HTTP/1.1 204\r\nDate: x\r\n\r\n", 204, "ended"],
  ["a body with a length", `${OK}Content-Length: 2\r\n\r\nok`, 200, "ended"],
  ["a chunked body", `${CHUNKED}2;a=b\r\nok\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n`, 200, "ended"],
  ["the status 500", "HTTP/1.1 500 No\r\ncontent-length:0\r\n\r\n", 500, "ended"],
  ["a preceding 100 Continue", `HTTP/1.1 100 Continue\r\n\r\n${OK}Content-Length: 0\r\n\r\n`, 200, "ended"],
  ["preceding interim answers", `${EARLY}${EARLY}HTTP/1.1 102 X\r\n\r\nHTTP/1.1 204 X\r\n\r\n`, 204, "ended"],
  ["a folded header", `${OK}X-A: b\r\n  c\r\n\td\r\nContent-Length:\r\n 2\r\n\r\nok`, 200, "ended"],
  ["spaces and tabs around a length", `${OK}Content-Length:\t 2 \t\r\n\r\nok`, 200, "ended"],
  ["several equal lengths", `${OK}Content-Length: 2\r\ncontent-length: 2 , 2\r\n\r\nok`, 200, "ended"],
  ["a length of 0 with 204", "HTTP/1.1 204 X\r\nContent-Length: 0\r\n\r\n", 204, "ended"],
  // After these answers, the connection must be closed, e.g. because the end of the answer is ambiguous, or because
  // bytes follow the answer.
  ["a length with 204", "HTTP/1.1 204 X\r\nContent-Length: 2\r\n\r\n", 204, "spent"],
  ["a body with 204", "HTTP/1.1 204 X\r\nContent-Length: 2\r\n\r\nok", 204, "spent"],
  ["chunks with 204", "HTTP/1.1 204 X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 204, "spent"],
  ["a length and chunks", CHUNKED.replace("\r\n", "\r\nContent-Length: 5\r\n") + "0\r\n\r\n", 200, "spent"],
  ["a second answer after the first", "HTTP/1.1 204 X\r\n\r\nHTTP/1.1 204 X\r\n\r\n", 204, "spent"],
  ["a body longer than its Content-Length", `${OK}Content-Length: 2\r\n\r\nok!`, 200, "spent"],
  ["a chunk without a size", `${CHUNKED}ok\r\n`, 200, "spent"],
  ["a chunk longer than its size", `${CHUNKED}2\r\nok!\r\n0\r\n\r\n`, 200, "spent"],
  ["chunks with bare line feeds", `${CHUNKED}2\nok\n0\n\n`, 200, "spent"],
  ["a trailer with a bare line feed", `${CHUNKED}0\r\nA: b\n\r\n`, 200, "spent"],
  ["a trailer with a bare carriage return", `${CHUNKED}0\r\nA: b\rc\r\n\r\n`, 200, "spent"],
  ["a trailer that is not a field", `${CHUNKED}0\r\nno field\r\n\r\n`, 200, "spent"],
  ["a control character in a chunk extension", `${CHUNKED}2;a\x07b\r\nok\r\n0\r\n\r\n`, 200, "spent"],
  [
    "a length and an empty transfer encoding",
    `${OK}Transfer-Encoding:\r\nContent-Length: 2\r\n\r\nok`,
    200,
    "spent",
  ],
  ["an empty transfer encoding with 204", "HTTP/1.1 204 X\r\nTransfer-Encoding:\r\n\r\n", 204, "spent"],
  ["bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, "spent"],
  ["bare line feeds in an interim answer", `HTTP/1.1 100 X\n\n${OK}Content-Length: 0\r\n\r\n`, 200, "spent"],
  [
    "bare line feeds and a body that looks like the end of a head",
    "HTTP/1.1 200 X\nContent-Length: 2\n\n\r\n",
    200,
    "spent",
  ],
  ["a bare line feed after the status line", "HTTP/1.1 204 X\nX: y\r\n\r\n", 204, "spent"],
  ["a bare line feed as the empty line", "HTTP/1.1 204 X\r\nX: y\r\n\n", 204, "spent"],
  ["a bare line feed before the empty line", "HTTP/1.1 204 X\r\nX: y\n\r\n", 204, "spent"],
  [
    "a folded header with bare line feeds",
    "HTTP/1.1 200 X\nX-A: b\n c\nContent-Length:\n 2\n\nok",
    200,
    "spent",
  ],
  ["Connection: close", `${OK}Connection: X, Close\r\nContent-Length: 2\r\n\r\nok`, 200, "spent"],
  ["HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "spent"],
  ["more than 16 KB of a body", `${OK}Content-Length: 99999\r\n\r\n${"x".repeat(17 * KB)}`, 200, "spent"],
  // In these answers, the status is known, but the body is incomplete.
  ["a body shorter than its Content-Length", `${OK}Content-Length: 3\r\n\r\nok`, 200, "body"],
  ["16 KB of a body", `${OK}Content-Length: 99999\r\n\r\n${"x".repeat(16 * KB)}`, 200, "body"],
  ["a length too large for a number", `${OK}Content-Length: ${"9".repeat(400)}\r\n\r\nok`, 200, "body"],
  ["no last chunk", `${CHUNKED}2\r\nok\r\n`, 200, "body"],
  ["a body that ends with the connection", `${OK}\r\nok`, 200, "body"],
  ["a no-break space before chunked", `${OK}Transfer-Encoding:\xa0chunked\r\n\r\n0\r\n\r\n`, 200, "body"],
  ["another transfer encoding", `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 200, "body"],
  // In these answers, the status is not yet known.
  ["an unfinished head", `${OK}Content-Length: 2\r\n`, 0, "head"],
  ["an unfinished status line", "HTTP/1.1 20", 0, "head"],
  ["interim answers only", EARLY + EARLY, 0, "head"],
];

// contract: push-2xx
test.each(ANSWERS)(
  "an answer with %s has the same result for every size of the pieces in which it arrives",
  (_what, text, ...read) => {
    for (const size of [text.length, 1, 2, 3, 7]) expect([size, readIn(size, text)]).toEqual([size, read]);
  },
);

test("a head is read in the same way whichever of its lines end with a bare line feed, and wherever its bytes are split", () => {
  const LINES = ["HTTP/1.1 200 OK", "X-A: b", " folded", "Content-Length: 2", ""];
  forAll(
    fc.array(fc.constantFrom("\n", "\r\n"), { minLength: LINES.length, maxLength: LINES.length }),
    fc.uniqueArray(fc.nat(70)),
    (ends, cuts) => {
      const bytes = Buffer.from(LINES.map((line, i) => line + (ends[i] ?? "")).join("") + "ok");
      const answer = createAnswer();
      const places = [0, ...cuts.toSorted((a, b) => a - b).filter((cut) => cut < bytes.length), bytes.length];
      places.slice(1).forEach((to, i) => answer.read(bytes.subarray(places[i], to)));
      expect([answer.status, answer.state]).toEqual([200, ends.includes("\n") ? "spent" : "ended"]);
    },
  );
});

test("for any bytes of an answer, the result does not depend on where the bytes are split", () => {
  const parts = [
    "\r",
    "\n",
    "\r\n",
    " ",
    "X: y",
    "Content-Length: 1",
    "Transfer-Encoding: chunked",
    "HTTP/1.1 100 C",
    "0",
  ];
  forAll(fc.constantFrom("200", "204", "500"), fc.array(fc.constantFrom(...parts)), (status, after) => {
    const text = `HTTP/1.1 ${status}${after.join("")}`;
    expect([1, 2, 3].map((size) => readIn(size, text))).toEqual(Array(3).fill(readIn(text.length, text)));
  });
});

test.each([
  ["is not HTTP", "SSH-2.0-x\r\n\r\n", /status line/],
  ["is HTTP/2", "HTTP/2 200\r\n\r\n", /status line/],
  ["has a status of two digits", "HTTP/1.1 20 OK\r\n\r\n", /status line/],
  ["folds its status line", "HTTP/1.1 200 OK\r\n folded\r\n\r\n", /status line/],
  ["has two different Content-Lengths", `${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok`, CONFLICT],
  ["has lengths that differ in one header", `${OK}Content-Length: 2, 3\r\n\r\nok`, CONFLICT],
  ["has a no-break space before a length", `${OK}Content-Length:\xa02\r\n\r\nok`, /invalid Content-Length/],
  ["has a length that is not a number", `${OK}Content-Length: -1\r\n\r\n`, /invalid Content-Length/],
  ["switches protocols", "HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n", /switch of protocols/],
  ["has a header without a colon", `${OK}no header\r\n\r\n`, /malformed header line/],
  ["has a space after the name of a header", `${OK}Content-Length : 2\r\n\r\nok`, /malformed header line/],
  ["has a control character in a header", `${OK}X: a\0b\r\n\r\n`, /malformed header line/],
  ["is not HTTP, and has no end of headers,", "220 mail.example ESMTP\r\n", /status line/],
  ["has a bare carriage return", `${OK}X: y\rZ: z\r\n\r\n`, /malformed header line/],
  ["has two carriage returns before a line feed", `${OK}X: y\r\r\n\r\n`, /malformed header line/],
  [
    "has conflicting lengths, and bare line feeds,",
    "HTTP/1.1 200 X\nContent-Length: 1\nContent-Length: 2\n\n",
    CONFLICT,
  ],
  ["has more than 16 KB of headers", `${OK}X: ${"x".repeat(16 * KB)}\r\n\r\n`, /16 KB/],
  ["has headers without an end", `${OK}X: ${"x".repeat(16 * KB)}`, /16 KB/],
  ["has more than 16 KB of interim answers", EARLY.repeat(500), /16 KB/],
])("an answer that %s is rejected", (_what, text, why) => {
  for (const size of [text.length, 1, 2, 3, 7]) expect(readIn(size, text)).toMatch(why);
});

test.each([
  [undefined, "Date: x"],
  [5_000, "Keep-Alive: timeout=5, max=100"],
  [7_000, "keep-alive: max=100, Timeout=7"],
  [undefined, "Keep-Alive: 300"],
])("the keep-alive time in ms is %p if a bridge sends %p", (ms, header) => {
  const answer = createAnswer();
  answer.read(Buffer.from(`HTTP/1.1 204 X\r\n${header}\r\n\r\n`));
  expect(answer.keepAliveMs).toBe(ms);
});

describe("the start of the body of a rejection", () => {
  /** Renders an answer. A body with `chunk` is sent in chunks of this size. */
  function rejection(body: Buffer, chunk: number | undefined): Buffer {
    const head = "HTTP/1.1 500 No\r\n";
    if (chunk === undefined) {
      return Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`), body]);
    }
    const parts: Buffer[] = [Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n`)];
    for (let at = 0; at < body.length; at += chunk) {
      const piece = body.subarray(at, at + chunk);
      parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n"));
    }
    return Buffer.concat([...parts, Buffer.from("0\r\n\r\n")]);
  }

  test("the start of a rejection's body contains its first 1,024 bytes, for any framing and any size of the pieces", () => {
    forAll(
      fc.uint8Array({ maxLength: 3 * KB }),
      fc.option(fc.integer({ min: 1, max: 2_000 }), { nil: undefined }),
      fc.array(fc.integer({ min: 1, max: 2_000 }), { minLength: 1 }),
      (content, chunk, sizes) => {
        const body = Buffer.from(content);
        const bytes = rejection(body, chunk);
        const answer = createAnswer();
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const size = sizes[i % sizes.length] ?? 1;
          answer.read(bytes.subarray(at, at + size));
          at += size;
        }
        const start = { bytes: body.subarray(0, KB), isTruncated: body.length > KB };
        expect(answer.state).toBe("ended");
        expect(answer.bodyStart?.read(true)).toEqual(body.length === 0 ? undefined : start);
      },
    );
  });

  test("the start of a rejection's body does not include bytes after the body", () => {
    const answer = createAnswer();
    answer.read(Buffer.from("HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nnoHTTP/1.1 204 X\r\n\r\n"));
    expect(answer.bodyStart?.read(true)).toEqual({ bytes: Buffer.from("no"), isTruncated: false });
  });

  test("the start of a rejection's body contains all bytes that have arrived if the body ends when the connection closes", () => {
    const answer = createAnswer();
    answer.read(Buffer.from("HTTP/1.0 503 X\r\n\r\nover"));
    answer.read(Buffer.from("loaded"));
    expect(answer.bodyStart?.read(true)).toEqual({ bytes: Buffer.from("overloaded"), isTruncated: false });
    expect(answer.bodyStart?.read(false)).toMatchObject({ isTruncated: true });
  });

  test.each(["HTTP/1.1 204 X\r\n\r\n", `${OK}Content-Length: 2\r\n\r\nok`])(
    "the start of the body is not collected for a 2xx answer: %j",
    (text) => {
      const answer = createAnswer();
      answer.read(Buffer.from(text));
      expect([answer.state, answer.bodyStart]).toEqual(["ended", undefined]);
    },
  );
});
