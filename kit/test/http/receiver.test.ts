import type { Receiver } from "../../receiver";
import { send, signatureOf } from "../../../test/harness/bridge";
import {
  closeReceivers,
  fastifyHost,
  PATH,
  pushTo,
  SECRET,
  setUpReceiver,
  setUpWaiting,
} from "../harness/kit-receiver";
import { plainHost } from "../../../test/harness/plain-host";
import { exchange } from "../../../test/harness/raw-http";
import { create, ONE_OF_EACH, WORKSPACE } from "../../../test/harness/sample-events";
import { fakeTimeouts } from "../harness/skipped-time";
import { until } from "../../../test/harness/wait";

afterEach(async () => {
  jest.useRealTimers();
  await closeReceivers();
});

const HALF = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf`;

describe.each([
  ["Node's own server", ({ handler }: Receiver) => plainHost(handler)],
  ["a Fastify app", fastifyHost],
] as const)("behind %s", (_what, hostOf) => {
  test("a signed event of each type is answered with 204 and handled, regardless of its Content-Type", async () => {
    const { push, shown } = await setUpReceiver({}, hostOf);
    const events = Object.values(ONE_OF_EACH);
    const types = ["text/plain", "application/json; charset=utf-16", "", "no/such", "application/json"];
    for (const [i, event] of events.entries()) {
      const { status, body } = await push(event, { "Content-Type": types[i] ?? "" });
      expect([status, body.length]).toEqual([204, 0]);
    }
    await until("all events are shown", () => shown.length === events.length);
    expect(shown).toEqual(expect.arrayContaining(events));
  });

  // time: ordering
  // contract: kit-answer-first
  test("the push is answered before the event is handled, however long the handler takes", async () => {
    const { push, receiver, done, open } = await setUpWaiting({}, hostOf);
    expect((await push(create())).status).toBe(204);
    expect([receiver.pending, done]).toEqual([1, []]);
    open();
    await receiver.close();
    expect([receiver.pending, done]).toEqual([0, [create().id]]);
  });

  // contract: signature-hmac
  test("the signature is checked over the raw bytes, even if a parser and serializer would change them", async () => {
    const { push, shown, url } = await setUpReceiver({}, hostOf);
    const text = JSON.stringify(create(), undefined, 2).replace("text 1", "t\\u0065xt\\/1 🎲");
    const headers = { "Service-Event-Id": create().id, "Service-Workspace": WORKSPACE };
    expect((await pushTo(url, Buffer.from(text), headers)).status).toBe(204);
    await until("the event is shown", () => shown.length === 1);
    expect(shown[0]).toMatchObject({ message: { text: "text/1 🎲" } });
    const signed = signatureOf(SECRET, JSON.stringify(JSON.parse(text)));
    const resigned = await pushTo(url, Buffer.from(text), { ...headers, "Service-Signature": signed });
    expect(resigned.status).toBe(401);
    expect((await push(create(2))).status).toBe(204);
  });

  test("a body over the limit is answered with 413, whether or not its length was declared", async () => {
    const { push, shown, url } = await setUpReceiver({ bodyMaxBytes: 1_000 }, hostOf);
    expect((await push(create())).status).toBe(204);
    const big = { ...create(2), extra: "x".repeat(2_000) };
    expect((await push(big)).json).toMatchObject({ statusCode: 413 });
    const chunk = `258\r\n${"x".repeat(600)}\r\n`;
    const chunked = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}${chunk}`;
    const { answers } = await exchange(url, chunked, { until: 1 });
    expect(answers.map(({ status }) => status)).toEqual([413]);
    await until("the small event is shown", () => shown.length === 1);
  });
});

test.each(["GET", "PUT", "DELETE"])("a %s is answered with 405", async (method) => {
  const { url } = await setUpReceiver();
  const answer = await send(url, PATH, { method });
  expect([answer.status, answer.headers["allow"]]).toEqual([405, "POST"]);
});

// time: controlled
test("a body that is incomplete after 5 seconds is answered with 408", async () => {
  fakeTimeouts();
  const { url } = await setUpReceiver();
  const answered = exchange(url, HALF, { until: 1 });
  // There are two timers: the receiver's and the client's.
  await until("the receiver waits for the body", () => jest.getTimerCount() === 2);
  jest.advanceTimersByTime(4_999);
  expect(jest.getTimerCount()).toBe(2);
  jest.advanceTimersByTime(1);
  expect((await answered).answers.map(({ status }) => status)).toEqual([408]);
});

test("the receiver still works after a connection closes in the middle of a body", async () => {
  const { url, push } = await setUpReceiver();
  const dropped = await exchange(url, (socket) => void socket.write(HALF, () => socket.destroy()));
  expect(dropped.answers).toEqual([]);
  expect((await push(create())).status).toBe(204);
});

test.each([
  ["a Buffer does not disturb the receiver", (raw: Buffer) => raw, 204],
  ["a string does not disturb the receiver", (raw: Buffer) => raw.toString("utf8"), 204],
  ["a Uint8Array does not disturb the receiver", (raw: Buffer) => new Uint8Array(raw), 204],
  [
    "an object makes the receiver answer with 500, because the raw bytes are lost",
    (raw: Buffer) => JSON.parse(String(raw)),
    500,
  ],
])("an earlier body parser that produces %s", async (_what, parse, code) => {
  const { push } = await setUpReceiver({}, ({ handler }) =>
    plainHost((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        request.body = parse(Buffer.concat(chunks)) as unknown;
        handler(request, response);
      });
    }),
  );
  const answer = await push(create());
  expect(answer.status).toBe(code);
  if (code === 500) expect(answer.json).toMatchObject({ message: expect.stringContaining("body parser") });
});

// time: ordering
test("a Fastify app closes only after its receiver has handled all accepted events", async () => {
  const { push, done, open } = await setUpWaiting({}, fastifyHost);
  await push(create());
  const closed = closeReceivers().then(() => done.slice());
  await until("the app accepts no more pushes", () =>
    push(create(2))
      .then(() => false)
      .catch(() => true),
  );
  open();
  expect(await closed).toEqual([create().id]);
});
