import { gzipSync } from "node:zlib";
import { post, signatureOf } from "../harness/bridge";
import { expectQuiet } from "../harness/output";
import { rawRequest, statusesOf } from "../harness/raw-http";
import { expectRefusal } from "../harness/refusals";
import { freshWorkspace, sharedService } from "../harness/shared-service";

const service = sharedService();
const workspace = freshWorkspace(service);

const MAX = 65_536;
const EVENT = '{"type":"command","channel":"c1","user":{"id":"u1"},"text":"private words"}';
const padded = (bytes: number) => EVENT.padEnd(bytes, " ");

const postBody = (body: string | Buffer, headers = {}) => post(service.url, workspace, body, { headers });

/** Returns the head of a POST, with a signature of the string `signed`. The test itself writes the body. */
function head(signed: string, framing: string): string {
  return (
    `POST /hooks/${workspace.id} HTTP/1.1\r\nHost: bridge.test\r\n` +
    `Service-Signature: ${signatureOf(workspace.secret, signed)}\r\n${framing}\r\n\r\n`
  );
}
const CHUNKED = "Transfer-Encoding: chunked";
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

// contract: check-1-size
describe("size:", () => {
  test("a body of 65,536 bytes is accepted, whether it is sent whole or in chunks", async () => {
    expect((await postBody(padded(MAX))).status).toBe(202);
    const chunks = [padded(MAX).slice(0, 20_000), padded(MAX).slice(20_000)].map(chunk).join("");
    const bytes = `${head(padded(MAX), CHUNKED)}${chunks}0\r\n\r\n`;
    expect(await statusesOf(service.url, bytes, { until: 1 })).toEqual([202]);
  });

  // contract: error-body
  test.each([MAX + 1, 10 * MAX, 30 * MAX])("a body of %i bytes is answered with 413", async (size) =>
    expectRefusal(await postBody(padded(size)), 413),
  );

  test("a body over the limit is answered with 413, and the connection is closed, even if the body never arrives or never ends", async () => {
    const body = padded(MAX + 1);
    const endless = (framing: string, more: string) =>
      statusesOf(service.url, (socket) => {
        socket.write(head("", framing));
        const timer = setInterval(() => socket.write(more), 5);
        socket.once("error", () => undefined).once("close", () => clearInterval(timer));
        socket.once("end", () => clearInterval(timer));
      });
    const statuses = await Promise.all([
      statusesOf(service.url, `${head(body, CHUNKED)}${chunk(body)}0\r\n\r\n`, { until: 1 }),
      statusesOf(service.url, head("", "Content-Length: 65537")),
      endless(CHUNKED, chunk("x".repeat(4_000))),
      endless("Content-Length: 99999999999", "x".repeat(4_000)),
    ]);
    expect(statuses).toEqual([[413], [413], [413], [413]]);
  });

  test("the size of a body is measured in bytes, not in characters", async () => {
    expect((await postBody(EVENT.replace("private words", "😀".repeat(2_000)))).status).toBe(202);
    const wide = EVENT.replace("private words", "😀".repeat(16_500));
    expect(wide.length).toBeLessThan(MAX);
    expectRefusal(await postBody(wide), 413);
  });
});

test("a body that arrives byte by byte is accepted", async () => {
  const body = EVENT.replace("private words", "é😀");
  const statuses = await statusesOf(
    service.url,
    (socket) => {
      socket.setNoDelay(true);
      socket.write(head(body, `Content-Length: ${Buffer.byteLength(body)}`));
      for (const byte of Buffer.from(body)) socket.write(Buffer.from([byte]));
    },
    { until: 1 },
  );
  expect(statuses).toEqual([202]);
});

// contract: check-1-json
test.each<[string, string | Buffer]>([
  ["an empty body", ""],
  ["a truncated event", EVENT.slice(0, -1)],
  ["an event with a letter after it", `${EVENT}x`],
  ["an event with a trailing comma", `${EVENT.slice(0, -1)},}`],
  ["NaN", "NaN"],
  ["a byte that is not UTF-8", Buffer.from(EVENT.replace("private words", "\u00ff"), "latin1")],
  ["an overlong encoding", Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
  ["a surrogate encoded in UTF-8", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ["65,536 opening brackets", "[".repeat(MAX)],
])(
  "a body that is not JSON in UTF-8 is answered with 400, and the answer names no field: %s",
  async (_what, body) => {
    expectRefusal(await postBody(body), 400);
  },
);

const nested = (open: string, close: string, depth: number, inside = "") =>
  open.repeat(depth) + inside + close.repeat(depth);
const FIELDS = Array.from({ length: 5_000 }, (_, i) => `"f${i}":0,`).join("");

// contract: check-7
test.each<[string, string, string | undefined]>([
  ["32,768 nested lists", nested("[", "]", MAX / 2), undefined],
  ["a field with a thousand nested lists", EVENT.replace('"private words"', nested("[", "]", 1_000)), "text"],
  ["a repeated field, whose last value counts", EVENT.replace('"text"', '"text":"","text":1,"x"'), "text"],
  ["five thousand unknown fields", `{${FIELDS}"type":"command"}`, "channel"],
  ["a field with an empty name", `{"":1,${EVENT.slice(1)}`, ""],
  [
    "a field with a name of 60,000 characters",
    `{"${"n".repeat(60_000)}":1,${EVENT.slice(1)}`,
    "n".repeat(256),
  ],
])("the fields of a JSON body are validated, however unusual the body is: %s", async (_what, body, field) => {
  expectRefusal(await postBody(body), 400, field);
});

test.each(["application/json; charset=latin1", "multipart/form-data", '///;;;="', "__proto__"])(
  "Content-Type %s is ignored",
  async (type) => expect((await postBody(EVENT, { "Content-Type": type })).status).toBe(202),
);

test.each(["gzip", "nonsense"])("Content-Encoding %s is ignored", async (encoding) => {
  const headers = { "Content-Encoding": encoding };
  expectRefusal(await postBody(gzipSync(EVENT), headers), 400);
  expect((await postBody(EVENT, headers)).status).toBe(202);
});

test.each([{}, { Expect: "100-continue" }, { Expect: "a miracle" }])(
  "a request without a Content-Type and with the headers %j is accepted",
  async (headers) => {
    const signature = { "Service-Signature": signatureOf(workspace.secret, EVENT) };
    const request = rawRequest("POST", `/hooks/${workspace.id}`, { ...signature, ...headers }, EVENT);
    expect(await statusesOf(service.url, request, { until: 1 })).toEqual([202]);
  },
);

test("the requests in this file cause no logged error, and no secret, signature or text in them is logged", () => {
  expectQuiet([service.core, service.edge], [workspace.secret, "v1=", "private words"]);
});
