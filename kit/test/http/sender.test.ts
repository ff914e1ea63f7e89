import { REAL_TIMING, type Timing } from "../../back-off";
import type { InboundEvent } from "../../inbound-event";
import { createSender, type SenderOptions } from "../../sender";
import { flood, garbage, reset, sayNothing, status, type Behaviour } from "../../../test/harness/behaviours";
import { signatureOf } from "../../../test/harness/bridge";
import { startReceiver, type ReceivedRequest, type Receiver } from "../../../test/harness/receiver";
import { WORKSPACE } from "../../../test/harness/sample-events";
import { fakeTimeouts, skipTime } from "../harness/skipped-time";
import { until } from "../../../test/harness/wait";

const SECRET = "secret-one";
const EVENT: InboundEvent = { type: "command", channel: "c1", user: { id: "u1", name: "Ünï 🎲" }, text: "" };
const NOW_S = 1_700_000_000;

let service: Receiver;
beforeEach(async () => {
  service = await startReceiver();
  service.behave(status(202, { body: '{"ok":true}' }));
});
afterEach(async () => {
  jest.useRealTimers();
  await service.close();
});

/** Returns a sender whose clock advances only during pauses. */
function senderOf(options: Partial<SenderOptions> = {}) {
  const timing = skipTime(0, () => NOW_S * 1000 + 250);
  const base = { baseUrl: `http://127.0.0.1:${service.port}`, workspaceId: WORKSPACE, secrets: SECRET };
  return { ...createSender({ ...base, timing, ...options }), pauses: timing.pauses };
}

/**
 * Makes the stub of the service answer the first requests with these behaviours in turn, and later requests with 202.
 */
function inTurn(...behaviours: readonly Behaviour[]): void {
  service.behave(() => behaviours[service.requests.length - 1] ?? status(202));
}

const idOf = ({ body }: ReceivedRequest) => (JSON.parse(body.toString()) as { id: string }).id;
const signatures = () => service.requests.map(({ headers }) => headers["service-signature"]);

// contract: signature-hmac
test("an event is sent as a POST of JSON to the workspace's endpoint, with a request id and a signature", async () => {
  const { send, pauses } = senderOf();
  const result = await send(EVENT);
  const request = await service.nth(1);
  expect(request).toMatchObject({
    method: "POST",
    path: `/hooks/${WORKSPACE}`,
    headers: {
      "content-type": "application/json",
      "service-signature": signatureOf(SECRET, request.body, NOW_S),
    },
  });
  expect(JSON.parse(request.body.toString())).toEqual({ ...EVENT, id: idOf(request) });
  expect(idOf(request)).toMatch(/^.{1,128}$/);
  expect([result, pauses]).toEqual([{ outcome: "accepted", id: idOf(request), attempts: 1 }, []]);
});

test("an event keeps its own request id, and an event without an id gets a unique id", async () => {
  const { send } = senderOf();
  for (const event of [{ ...EVENT, id: "mine" }, EVENT, EVENT]) await send(event);
  const ids = service.requests.map(idOf);
  expect([ids[0], new Set(ids).size]).toEqual(["mine", 3]);
});

test("during a rotation, each attempt is signed with every secret, and the secrets are looked up again for each attempt", async () => {
  const asked: string[] = [];
  const { send } = senderOf({
    secrets: async (workspaceId) => {
      asked.push(workspaceId);
      return asked.length === 1 ? "old" : ["new", "old"];
    },
  });
  inTurn(status(500));
  await send(EVENT);
  const body = service.requests[0]?.body ?? "";
  const old = signatureOf("old", body, NOW_S);
  expect(signatures()).toEqual([old, `${signatureOf("new", body, NOW_S)}${old.slice(`t=${NOW_S}`.length)}`]);
  expect(asked).toEqual([WORKSPACE, WORKSPACE]);
});

// time: controlled
// contract: kit-retry-same-id
test.each([
  ["a connection reset", reset()],
  ["an answer that is not HTTP", garbage()],
  ["an endless answer", flood()],
  ["a 502", status(502, { body: "<html>bad gateway</html>" })],
  ["a 429", status(429)],
])("after %s, the same bytes are sent again, signed with the current time", async (_what, behaviour) => {
  const { send, pauses } = senderOf();
  inTurn(behaviour, behaviour);
  expect(await send(EVENT)).toMatchObject({ outcome: "accepted", attempts: 3 });
  expect(pauses).toEqual([250, 500]);
  const body = service.requests[0]?.body ?? "";
  expect(service.requests.map((request) => request.body)).toEqual([body, body, body]);
  expect(signatures()).toEqual([NOW_S, NOW_S, NOW_S + 1].map((t) => signatureOf(SECRET, body, t)));
});

// time: controlled
// contract: kit-retry-same-id
test("an attempt without an answer times out after 10 seconds, and the same bytes are sent again", async () => {
  fakeTimeouts();
  inTurn(sayNothing());
  const sent = senderOf().send(EVENT);
  await service.nth(1);
  jest.advanceTimersByTime(9_999);
  expect(jest.getTimerCount()).toBe(1);
  jest.advanceTimersByTime(1);
  expect(await sent).toMatchObject({ outcome: "accepted", attempts: 2 });
  expect(service.requests[1]?.body).toEqual(service.requests[0]?.body);
});

// time: controlled
// contract: kit-retry-same-id
test.each([
  [429, "3", 3_000],
  [503, "1", 1_000],
  [429, "0", 250],
  [429, "soon", 250],
  [503, "1.5", 1_500],
  [503, new Date((NOW_S + 9) * 1000).toUTCString(), 8_750],
])("after a %i with Retry-After: %s, the sender waits %i ms", async (code, after, ms) => {
  const { send, pauses } = senderOf();
  inTurn(status(code, { headers: { "Retry-After": after } }));
  expect(await send(EVENT)).toMatchObject({ outcome: "accepted", attempts: 2 });
  expect(pauses).toEqual([ms]);
});

// contract: kit-no-retry-4xx
test.each([400, 401, 403, 404, 408, 409, 410, 413, 422])(
  "after a %i, the event is never sent again",
  async (code) => {
    const { send } = senderOf();
    const body = JSON.stringify({ statusCode: code, message: "no", error: "No", field: "user.id" });
    service.behave(status(code, { body }));
    const refused = { outcome: "refused", id: "mine", attempts: 1, status: code, field: "user.id" };
    expect(await send({ ...EVENT, id: "mine" })).toEqual({ ...refused, message: "no" });
    expect(service.requests).toHaveLength(1);
  },
);

test.each([200, 204, 302])(
  "after a %i, the event is reported as refused, and no redirect is followed",
  async (code) => {
    service.behave(status(code, { headers: { Location: service.url } }));
    expect(await senderOf().send(EVENT)).toMatchObject({ outcome: "refused", status: code, attempts: 1 });
    expect(service.requests).toHaveLength(1);
  },
);

// time: controlled
test("after the last attempt fails, the event is dropped, and the result contains the last status", async () => {
  const { send, pauses } = senderOf({ attemptsMax: 4 });
  inTurn(status(500), reset(), status(500), status(503));
  const givenUp = { outcome: "given-up", id: "mine", attempts: 4, reason: "status", status: 503 };
  expect(await send({ ...EVENT, id: "mine" })).toEqual(givenUp);
  expect(pauses).toEqual([250, 500, 1000]);
});

// time: controlled
test.each([
  [59_999, [30_000]],
  [60_000, [30_000, 30_000]],
])(
  "with `giveUpAfterMs` %i and Retry-After: 30, the sender pauses for %j ms, and then drops the event",
  async (giveUpAfterMs, ms) => {
    const { send, pauses } = senderOf({ giveUpAfterMs });
    service.behave(status(429, { headers: { "Retry-After": "30" } }));
    expect(await send(EVENT)).toMatchObject({ outcome: "given-up", attempts: 1 + ms.length, status: 429 });
    expect(pauses).toEqual(ms);
  },
);

test("an abort ends an attempt in progress, and an event with an aborted signal is not sent", async () => {
  const abort = new AbortController();
  service.behave(sayNothing());
  const { send } = senderOf({ timeoutMs: 3_600_000 });
  const sent = send(EVENT, abort);
  await service.nth(1);
  abort.abort();
  expect(await sent).toMatchObject({ outcome: "given-up", attempts: 1, reason: "aborted" });
  expect(await send(EVENT, abort)).toMatchObject({ outcome: "given-up", reason: "aborted" });
  expect(service.requests).toHaveLength(1);
});

test("an abort ends a pause between attempts", async () => {
  const abort = new AbortController();
  service.behave(status(503, { headers: { "Retry-After": "3600" } }));
  const pause = jest.fn<Promise<void>, Parameters<Timing["pause"]>>(REAL_TIMING.pause);
  const sender = senderOf({ timing: { ...REAL_TIMING, pause }, giveUpAfterMs: 86_400_000 });
  const sent = sender.send(EVENT, abort);
  await until("the sender pauses", () => pause.mock.calls.length === 1);
  abort.abort();
  expect(await sent).toMatchObject({ outcome: "given-up", attempts: 1, reason: "aborted", status: 503 });
});

test("an event beyond the limit of pending events is dropped without a request", async () => {
  const { send } = senderOf({ pendingMax: 2 });
  service.behave(sayNothing());
  const abort = new AbortController();
  const sent = [send(EVENT, abort), send(EVENT, abort)];
  await service.waitFor(2);
  const overloaded = { outcome: "given-up", id: "mine", attempts: 0, reason: "overloaded" };
  expect(await send({ ...EVENT, id: "mine" })).toEqual(overloaded);
  abort.abort();
  await Promise.all(sent);
  service.behave(status(202));
  expect(await send(EVENT)).toMatchObject({ outcome: "accepted" });
  expect(service.requests).toHaveLength(3);
});

test("a sender needs a secret and an http(s) address", async () => {
  expect(() => senderOf({ secrets: "" })).toThrow("a signing secret is missing");
  expect(() => senderOf({ baseUrl: "games.example" })).toThrow("must be an http(s) address");
  await expect(senderOf({ secrets: () => undefined }).send(EVENT)).rejects.toThrow("there are no secrets");
  expect(service.requests).toHaveLength(0);
});
