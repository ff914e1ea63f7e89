import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { post, send, signatureOf } from "../harness/bridge";
import { expectQuiet } from "../harness/output";
import { exchange, rawRequest, type RawAnswer } from "../harness/raw-http";
import { expectRefusal } from "../harness/refusals";
import { createWorkspace, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
let workspace: TestWorkspace;
beforeAll(async () => {
  workspace = await createWorkspace(service.clients);
});

const MAX = 65_536;
const EVENT = '{"type":"command","channel":"c1","user":{"id":"u1"},"text":"private words"}';
const padded = (bytes: number) => EVENT.padEnd(bytes, " ");

const postBody = (body: string | Buffer, headers = {}) => post(service.url, workspace, body, { headers });

function expectRawRefusal(answer: RawAnswer | undefined, status: number): void {
  expect(answer).toBeDefined();
  if (answer !== undefined) expectRefusal({ ...answer, body: Buffer.from(answer.body) }, status);
}

/** The head of a POST whose body the test writes itself. */
function head(signed: string, framing: string): string {
  return (
    `POST /hooks/${workspace.id} HTTP/1.1\r\nHost: bridge.test\r\n` +
    `Service-Signature: ${signatureOf(workspace.secret, signed)}\r\n${framing}\r\n\r\n`
  );
}
const CHUNKED = "Transfer-Encoding: chunked";
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

/** Writes the same again and again for as long as the other side takes it. */
function keepWriting(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 5);
  for (const event of ["error", "close", "end"]) socket.once(event, () => clearInterval(timer));
}

// contract: check-1-size
describe("a body's size", () => {
  test("of 65,536 bytes is accepted, whole or in chunks", async () => {
    expect((await postBody(padded(MAX))).status).toBe(202);
    const body = padded(MAX - 1) + "\n";
    const pieces = [body.slice(0, 1), body.slice(1, 40_000), body.slice(40_000)].map(chunk).join("");
    const { answers } = await exchange(service.url, `${head(body, CHUNKED)}${pieces}0\r\n\r\n`, { until: 1 });
    expect(answers.map(({ status, body }) => [status, body])).toEqual([[202, '{"ok":true}']]);
  });

  // contract: error-body
  test.each([MAX + 1, 10 * MAX, 30 * MAX])(
    "of %i bytes is answered 413, without error and field",
    async (size) => {
      const answer = await postBody(padded(size));
      expectRefusal(answer, 413);
      expect(Object.keys(answer.json as object).toSorted()).toEqual(["message", "statusCode"]);
    },
  );

  test("of 65,537 bytes in chunks is answered 413", async () => {
    const body = padded(MAX + 1);
    const { answers } = await exchange(service.url, `${head(body, CHUNKED)}${chunk(body)}0\r\n\r\n`);
    expectRawRefusal(answers[0], 413);
  });

  test("that is announced to be too large is answered 413, and the connection ended, though none of it comes", async () => {
    const { answers, ms } = await exchange(service.url, head("", "Content-Length: 65537"));
    expectRawRefusal(answers[0], 413);
    expect(ms).toBeLessThan(8_000);
  });

  test.each([
    ["in chunks", CHUNKED, chunk("x".repeat(4_000))],
    ["of an announced length", "Content-Length: 99999999999", "x".repeat(4_000)],
  ])(
    "is bounded when its sender never ends it, %s: 413, and the connection ended",
    async (_how, framing, more) => {
      const { answers, ms } = await exchange(service.url, (socket) => {
        socket.write(head("", framing));
        keepWriting(socket, more);
      });
      expectRawRefusal(answers[0], 413);
      expect(ms).toBeLessThan(8_000);
    },
  );

  test("counts bytes, not characters", async () => {
    expect((await postBody(EVENT.replace("private words", "😀".repeat(2_000)))).status).toBe(202);
    const wide = EVENT.replace("private words", "😀".repeat(16_500));
    expect(wide.length).toBeLessThan(MAX);
    expectRefusal(await postBody(wide), 413);
  });
});

test("a body that arrives byte by byte is received as it is", async () => {
  const body = EVENT.replace("private words", "é😀");
  const { answers } = await exchange(
    service.url,
    (socket) => {
      socket.setNoDelay(true);
      socket.write(head(body, `Content-Length: ${Buffer.byteLength(body)}`));
      for (const byte of Buffer.from(body)) socket.write(Buffer.from([byte]));
    },
    { until: 1 },
  );
  expect(answers.map(({ status }) => status)).toEqual([202]);
});

// contract: check-1-json
describe("a body that is not JSON in UTF-8 is answered 400 without a field:", () => {
  test.each<[string, string | Buffer]>([
    ["an empty one", ""],
    ["blanks alone", "  \n"],
    ["one cut short", EVENT.slice(0, -1)],
    ["one with something after it", `${EVENT}x`],
    ["two in one", EVENT + EVENT],
    ["one with a comma too many", `${EVENT.slice(0, -1)},}`],
    ["one with a comment", `/* hi */${EVENT}`],
    ["single quotes", EVENT.replaceAll('"', "'")],
    ["NaN", "NaN"],
    ["undefined", "undefined"],
    ["a raw newline in a text", EVENT.replace("private words", "a\nb")],
    ["a form", "type=command&channel=c1"],
    ["a byte order mark", `\ufeff${EVENT}`],
    ["UTF-16", Buffer.from(EVENT, "utf16le")],
    ["a byte that is no UTF-8", Buffer.from(EVENT.replace("private words", "\u00ff"), "latin1")],
    [
      "half a character",
      Buffer.concat([Buffer.from('"'), Buffer.from("😀").subarray(0, 2), Buffer.from('"')]),
    ],
    ["an overlong encoding", Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ["a surrogate encoded in UTF-8", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ["a NUL after it", `${EVENT}\u0000`],
    ["a compressed one", gzipSync(EVENT)],
    ["a thousand opened lists", "[".repeat(1_000)],
    ["as many opened lists as fit", "[".repeat(MAX)],
    ["as many opened objects as fit", '{"a":'.repeat(13_000)],
  ])("%s", async (_what, body) => {
    expectRefusal(await postBody(body), 400);
  });
});

// contract: check-7
describe("a body that is JSON is judged by its fields, however deep or odd it is:", () => {
  const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);
  test.each<[string, string, string | undefined]>([
    ["a thousand levels of lists", nested("[", "]", 1_000), undefined],
    ["as many levels as fit", nested("[", "]", MAX / 2), undefined],
    ["a thousand levels in a field", EVENT.replace('"private words"', nested("[", "]", 1_000)), "text"],
    [
      "a thousand levels of objects",
      EVENT.replace('"u1"', `${'{"id":'.repeat(1_000)}1${"}".repeat(1_000)}`),
      "user.id",
    ],
    [
      "a field said twice, of which the last counts",
      EVENT.replace('"text"', '"text":"","text":1,"x"'),
      "text",
    ],
    [
      "ten thousand unknown fields",
      `{${Array.from({ length: 5_000 }, (_, i) => `"f${i}":0,`).join("")}"type":"command"}`,
      "channel",
    ],
    ["a field of no name", `{"":1,${EVENT.slice(1)}`, ""],
    ["a field of 60,000 characters", `{"${"n".repeat(60_000)}":1,${EVENT.slice(1)}`, "n".repeat(256)],
  ])("%s", async (_what, body, field) => {
    expectRefusal(await postBody(body), 400, field);
  });
});

test.each([
  ["absent", {}],
  ["application/json with a charset", { "Content-Type": "application/json; charset=latin1" }],
  ["text/plain", { "Content-Type": "text/plain" }],
  ["a form's", { "Content-Type": "application/x-www-form-urlencoded" }],
  ["multipart without a boundary", { "Content-Type": "multipart/form-data" }],
  ["malformed", { "Content-Type": '///;;;="' }],
  ["empty", { "Content-Type": "" }],
  ["__proto__", { "Content-Type": "__proto__" }],
])("a Content-Type that is %s is not judged", async (_what, headers) => {
  const signed = { "Service-Signature": signatureOf(workspace.secret, EVENT), ...headers };
  const path = `/hooks/${workspace.id}`;
  expect((await send(service.url, path, { method: "POST", body: EVENT, headers: signed })).status).toBe(202);
});

test.each(["gzip", "br", "deflate", "nonsense"])("Content-Encoding %s is not undone", async (encoding) => {
  const headers = { "Content-Encoding": encoding };
  expectRefusal(await postBody(gzipSync(EVENT), headers), 400);
  expect((await postBody(EVENT, headers)).status).toBe(202);
});

test("a request that waits for 100 Continue is told to, and one that expects anything else is served", async () => {
  for (const expected of ["100-continue", "a miracle"]) {
    const request = rawRequest(
      "POST",
      `/hooks/${workspace.id}`,
      { "Service-Signature": signatureOf(workspace.secret, EVENT), Expect: expected },
      EVENT,
    );
    const { answers } = await exchange(service.url, request, { until: 1 });
    expect(answers.map(({ status, body }) => [status, body])).toEqual([[202, '{"ok":true}']]);
  }
});

test("nothing of all that is logged", () => {
  expectQuiet([service.core, service.edge], [workspace.secret, "v1=", "private words"]);
});
