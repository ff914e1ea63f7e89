import { createPushReceiver } from "../../receive-push";
import type { PushBody, PushHeaders } from "../../push-request";
import type { OutboundEvent } from "../../events";
import { signatureOf } from "../../../test/harness/bridge";
import { create, message, WORKSPACE } from "../../../test/harness/sample-events";

const SECRET = "secret-one";
const EVENT = { ...create(), message: { ...message(), text: "Ünï 🎲" } };
const TEXT = JSON.stringify(EVENT);
const BYTES = Buffer.from(TEXT);
const HEADERS = {
  "Content-Type": "application/json",
  "Service-Signature": signatureOf(SECRET, BYTES),
  "Service-Event-Id": EVENT.id,
  "Service-Workspace": WORKSPACE,
};

function setUp() {
  const shown: OutboundEvent[] = [];
  const problems: string[] = [];
  const receiver = createPushReceiver({
    secrets: SECRET,
    handle: (event) => void shown.push(event),
    report: ({ message: problem }) => problems.push(problem),
  });
  return { ...receiver, shown, problems };
}

const mapNames = (change: (name: string) => string) =>
  Object.fromEntries(Object.entries(HEADERS).map(([name, value]) => [change(name), value]));
const arrayBuffer = BYTES.buffer.slice(BYTES.byteOffset, BYTES.byteOffset + BYTES.length);

test.each<[string, PushBody]>([
  ["a Buffer", BYTES],
  ["a Uint8Array", new Uint8Array(BYTES)],
  ["a part of a longer Uint8Array", new Uint8Array([0, ...BYTES, 0]).subarray(1, -1)],
  ["an ArrayBuffer", arrayBuffer],
  ["a string", TEXT],
  ["base64 that the caller decoded", Buffer.from(BYTES.toString("base64"), "base64")],
])("a push whose body is %s is accepted and handled", async (_what, body) => {
  const { receive, close, shown } = setUp();
  expect((await receive(HEADERS, body)).status).toBe(204);
  await close();
  expect(shown).toEqual([EVENT]);
});

test.each<[string, PushHeaders]>([
  ["in lower case", mapNames((name) => name.toLowerCase())],
  ["in upper case", mapNames((name) => name.toUpperCase())],
  ["of a Headers object", new Headers(HEADERS)],
  [
    "with a list of values each",
    Object.fromEntries(Object.entries(HEADERS).map(([name, value]) => [name, [value]])),
  ],
  ["with an undefined value among them", { ...HEADERS, cookie: undefined }],
])("a push with header names %s is accepted and handled", async (_what, headers) => {
  const { receive, close, shown } = setUp();
  expect((await receive(headers, BYTES)).status).toBe(204);
  await close();
  expect(shown).toEqual([EVENT]);
});

test.each<[string, unknown, unknown, RegExp]>([
  ["a parsed body", HEADERS, EVENT, /pass the body as a Buffer, a Uint8Array, an ArrayBuffer or a string/],
  ["no body", HEADERS, undefined, /pass the body as/],
  ["no headers", undefined, BYTES, /pass a Headers object, or an object such as request.headers/],
  ["a list of raw headers", Object.entries(HEADERS).flat(), BYTES, /pass a Headers object/],
])("%s is answered with 500, and the message says what to pass", async (_what, headers, body, words) => {
  const { receive, close, shown } = setUp();
  const answer = await receive(headers as PushHeaders, body as PushBody);
  expect([answer.status, JSON.parse(answer.body)]).toEqual([
    500,
    { statusCode: 500, error: "Internal Server Error", message: expect.stringMatching(words) },
  ]);
  await close();
  expect(shown).toEqual([]);
});

// contract: kit-verify-first
test("a header that is sent twice, under names in different cases, does not pass the check of the signature", async () => {
  const { receive } = setUp();
  const twice = { ...HEADERS, "service-signature": signatureOf("other", BYTES) };
  expect((await receive(twice, BYTES)).status).toBe(401);
});
