import type { OutboundEvent } from "../../bridge/events";
import type { Receiver } from "../../bridge/receiver";
import { send, signatureOf } from "../harness/bridge";
import {
  closeReceivers,
  fastifyHost,
  gate,
  PATH,
  plainHost,
  pushTo,
  SECRET,
  setUpReceiver,
} from "../harness/kit-receiver";
import { exchange } from "../harness/raw-http";
import { create, ONE_OF_EACH, WORKSPACE } from "../harness/sample-events";
import { until } from "../harness/wait";

afterEach(closeReceivers);

describe.each([
  ["Node's own server", ({ handler }: Receiver) => plainHost(handler)],
  ["a Fastify app", fastifyHost],
] as const)("behind %s", (_what, hostOf) => {
  test.each(Object.entries(ONE_OF_EACH))("a signed %s is answered 2xx and shown", async (_type, event) => {
    const { push, shown } = await setUpReceiver({}, hostOf);
    const { status, body } = await push(event);
    expect([status, body.length]).toEqual([204, 0]);
    await until("it is shown", () => shown.length === 1);
    expect(shown).toEqual([event]);
  });

  // contract: kit-answer-first
  test("the answer is sent before the event is shown, however long that takes", async () => {
    const { open, opened } = gate();
    const done: string[] = [];
    const { push, receiver } = await setUpReceiver(
      {
        async handle({ id }) {
          await opened;
          done.push(id);
        },
      },
      hostOf,
    );
    expect((await push(create())).status).toBe(204);
    expect([receiver.pending, done]).toEqual([1, []]);
    open();
    await receiver.close();
    expect([receiver.pending, done]).toEqual([0, [create().id]]);
  });

  // contract: signature-hmac
  test("the signature is checked over the raw bytes, whatever a parser would make of them", async () => {
    const { push, shown, url } = await setUpReceiver({}, hostOf);
    const text = JSON.stringify(create(), undefined, 2).replace("text 1", "t\\u0065xt\\/1 🎲");
    const headers = { "Service-Event-Id": create().id, "Service-Workspace": WORKSPACE };
    expect((await pushTo(url, Buffer.from(text), headers)).status).toBe(204);
    await until("it is shown", () => shown.length === 1);
    expect(shown[0]).toMatchObject({ message: { text: "text/1 🎲" } });
    const signed = signatureOf(SECRET, JSON.stringify(JSON.parse(text)));
    const resigned = await pushTo(url, Buffer.from(text), { ...headers, "Service-Signature": signed });
    expect(resigned.status).toBe(401);
    expect((await push(create(2))).status).toBe(204);
  });

  test.each(["text/plain", "application/json; charset=utf-16", "", "no/such"])(
    "a Content-Type of %j changes nothing",
    async (type) => {
      const { push, shown } = await setUpReceiver({}, hostOf);
      expect((await push(create(), { "Content-Type": type })).status).toBe(204);
      await until("it is shown", () => shown.length === 1);
    },
  );

  test("a body past the bound is answered 413, whether or not its length was announced", async () => {
    const { push, shown, url } = await setUpReceiver({ bodyMaxBytes: 1_000 }, hostOf);
    expect((await push(create())).status).toBe(204);
    const big = { ...create(2), extra: "x".repeat(2_000) };
    expect((await push(big)).json).toMatchObject({ statusCode: 413 });
    const chunk = "x".repeat(600);
    const { answers } = await exchange(
      url,
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n` +
        `258\r\n${chunk}\r\n258\r\n${chunk}\r\n`,
      { until: 1 },
    );
    expect(answers.map(({ status }) => status)).toEqual([413]);
    await until("the small one is shown", () => shown.length === 1);
  });
});

test.each(["GET", "PUT", "DELETE"])("a %s is answered 405", async (method) => {
  const { url } = await setUpReceiver();
  const answer = await send(url, PATH, { method });
  expect([answer.status, answer.headers["allow"]]).toEqual([405, "POST"]);
});

test("a body that stops half way is answered 408 in the time that the service waits", async () => {
  const { url } = await setUpReceiver();
  const { answers, ms } = await exchange(
    url,
    `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf`,
    { until: 1 },
  );
  expect(answers.map(({ status }) => status)).toEqual([408]);
  expect(ms).toBeGreaterThanOrEqual(4_900);
});

test("a connection that is dropped half way does no harm", async () => {
  const { url, push } = await setUpReceiver();
  const { answers } = await exchange(url, (socket) => {
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf`, () =>
      socket.destroy(),
    );
  });
  expect(answers).toEqual([]);
  expect((await push(create())).status).toBe(204);
});

test.each([
  ["into a Buffer is as good as none", (raw: Buffer) => raw, 204],
  ["into an object is told of, since the raw bytes are gone", (raw: Buffer) => JSON.parse(String(raw)), 500],
])("a body parser before the receiver that parses %s", async (_what, parse, code) => {
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

test("when a Fastify app has closed, what its receiver took has been shown", async () => {
  const { open, opened } = gate();
  const done: string[] = [];
  const handle = async ({ id }: OutboundEvent) => {
    await opened;
    done.push(id);
  };
  const { push } = await setUpReceiver({ handle }, fastifyHost);
  await push(create());
  const closed = closeReceivers().then(() => done.slice());
  await until("the app takes no more", () =>
    push(create(2)).then(
      () => false,
      () => true,
    ),
  );
  open();
  expect(await closed).toEqual([create().id]);
});
