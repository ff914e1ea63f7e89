import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import {
  closeWithoutAnswer,
  dripBody,
  dripHeaders,
  flood,
  garbage,
  headersOnly,
  hintForEver,
  hugeHeaders,
  neverEnd,
  redirect,
  reset,
  sayNothing,
  status,
  stopInBody,
  type Behaviour,
} from "./behaviours";
import { startReceiver, type Receiver } from "./receiver";
import { createTestCa, type TestCa } from "./test-ca";
import { createTestClient, type Got, type TestClient } from "./test-client";
import { until } from "./wait";

/** How long nothing must happen to be taken for a stall. */
const STALL_MS = 200;

let ca: TestCa;
let receiver: Receiver;
let client: TestClient;
beforeAll(() => {
  ca = createTestCa();
});
afterAll(() => ca.close());
beforeEach(async () => {
  receiver = await startReceiver({ ca, names: ["bridge.example"] });
  client = createTestClient(ca.cert);
});
afterEach(async () => {
  await client.close();
  await receiver.close();
});

const connectionToClose = () =>
  until("the connection to be closed", () => receiver.connections[0]?.closedAt !== undefined);

describe("a request is answered", () => {
  test.each<[string, () => Behaviour, Got]>([
    ["any status", () => status(418), { status: 418, bytes: 0, end: "whole" }],
    ["a body", () => status(200, { body: "ok" }), { status: 200, bytes: 2, end: "whole" }],
    ["with a reset", reset, { end: "ECONNRESET" }],
    ["with a close", closeWithoutAnswer, { end: "UND_ERR_SOCKET" }],
    ["garbage", garbage, { end: "HTTPParserError" }],
    ["huge headers", hugeHeaders, { end: "UND_ERR_HEADERS_OVERFLOW" }],
  ])("%s", async (_title, behaviour, expected) => {
    receiver.behave(behaviour());
    expect(await client.observe(receiver.url)).toEqual(expected);
    expect(receiver.requests).toHaveLength(1);
  });

  test("a redirect with its location", async () => {
    receiver.behave(redirect("https://elsewhere.example/", 307));
    const { statusCode, headers } = await client.post(receiver.url);
    expect([statusCode, headers["location"]]).toEqual([307, "https://elsewhere.example/"]);
  });

  test("a status only after the time it was told", async () => {
    receiver.behave(status(200, { afterMs: 100 }));
    expect((await client.post(receiver.url)).statusCode).toBe(200);
    const { at } = await receiver.nth(1);
    // Timers of Node may fire a millisecond early.
    expect(performance.now() - at).toBeGreaterThanOrEqual(99);
  });
});

describe("a request is answered too little:", () => {
  test.each<[string, () => Behaviour, Got]>([
    ["nothing", sayNothing, {}],
    ["headers without their body", headersOnly, { status: 200, bytes: 0 }],
    ["a part of a body", stopInBody, { status: 200, bytes: 1 }],
    ["a chunked body without end", neverEnd, { status: 200, bytes: 1 }],
    ["headers that never end", () => dripHeaders(5), {}],
    ["interim answers for ever", () => hintForEver(5), {}],
  ])("%s, until the client leaves", async (_title, behaviour, expected) => {
    receiver.behave(behaviour());
    const leaving = new AbortController();
    const got: Got = {};
    const ended = client.observe(receiver.url, { signal: leaving.signal }, got);
    await receiver.nth(1);
    await until("the answer to come that far", () => isDeepStrictEqual(got, expected));
    await sleep(STALL_MS);
    expect(got).toEqual(expected);
    leaving.abort();
    expect((await ended).end).toBe("AbortError");
    await connectionToClose();
  });

  test("a body byte by byte, until the client leaves", async () => {
    receiver.behave(dripBody(5));
    const leaving = new AbortController();
    const got: Got = {};
    const ended = client.observe(receiver.url, { signal: leaving.signal }, got);
    await until("three bytes of body", () => (got.bytes ?? 0) >= 3);
    leaving.abort();
    expect(await ended).toMatchObject({ status: 200, end: "AbortError" });
    await connectionToClose();
  });
});

describe("a request is answered a flood of bytes", () => {
  test.each([false, true])("to its end, when it is read (length declared: %s)", async (declared) => {
    const flooding = flood({ bytes: 3_000_000, declared });
    receiver.behave(flooding);
    const answer = await client.post(receiver.url);
    expect(answer.headers["content-length"]).toBe(declared ? "3000000" : undefined);
    expect((await answer.body.arrayBuffer()).byteLength).toBe(3_000_000);
    await until("all to be counted", () => flooding.sent === 3_000_000);
  });

  test("that stops when the client leaves", async () => {
    const flooding = flood();
    receiver.behave(flooding);
    const { body } = await client.post(receiver.url);
    body.on("error", () => {}).destroy();
    await connectionToClose();
    expect(flooding.sent).toBeLessThan(100_000_000);
  });
});
