import { REAL_TIMING, type Timing } from "../../bridge/back-off";
import type { InboundEvent } from "../../bridge/inbound-event";
import { createSender, type SenderOptions } from "../../bridge/sender";
import {
  closeWithoutAnswer,
  flood,
  garbage,
  reset,
  sayNothing,
  status,
  type Behaviour,
} from "../harness/behaviours";
import { nowSeconds, signatureOf } from "../harness/bridge";
import { startReceiver, type ReceivedRequest, type Receiver } from "../harness/receiver";
import { skipTime } from "../harness/skipped-time";
import { until } from "../harness/wait";

const SECRET = "secret-one";
const WORKSPACE = "0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11";
const EVENT: InboundEvent = { type: "command", channel: "c1", user: { id: "u1", name: "Ünï 🎲" }, text: "" };

let service: Receiver;
beforeEach(async () => {
  service = await startReceiver();
  service.behave(status(202, { body: '{"ok":true}' }));
});
afterEach(() => service.close());

function senderOf(options: Partial<SenderOptions> = {}) {
  const timing = skipTime();
  const base = { baseUrl: `http://127.0.0.1:${service.port}`, workspaceId: WORKSPACE, secrets: SECRET };
  return { ...createSender({ ...base, timing, ...options }), pauses: timing.pauses };
}

/** Answers a request by its number: as the list says, and 202 past its end. */
function inTurn(...behaviours: readonly Behaviour[]): void {
  service.behave(() => behaviours[service.requests.length - 1] ?? status(202));
}

const timestampOf = ({ headers }: ReceivedRequest) =>
  Number(/^t=(\d+),/.exec(String(headers["service-signature"]))?.[1]);
const idOf = ({ body }: ReceivedRequest) => (JSON.parse(body.toString()) as { id: string }).id;

// contract: signature-hmac
test("an event is a POST of JSON to the workspace's endpoint, with a request id and a signature of its exact bytes", async () => {
  const { send, pauses } = senderOf();
  const result = await send(EVENT);
  const request = await service.nth(1);
  expect(request).toMatchObject({ method: "POST", path: `/hooks/${WORKSPACE}` });
  expect(request.headers["content-type"]).toBe("application/json");
  const t = timestampOf(request);
  expect(request.headers["service-signature"]).toBe(signatureOf(SECRET, request.body, t));
  expect(Math.abs(t - nowSeconds())).toBeLessThan(60);
  expect(JSON.parse(request.body.toString())).toEqual({ ...EVENT, id: idOf(request) });
  expect(idOf(request)).toMatch(/^.{1,128}$/);
  expect([result, pauses]).toEqual([{ outcome: "accepted", id: idOf(request), attempts: 1 }, []]);
});

test("an event's own request id is kept, and each event without one gets another", async () => {
  const { send } = senderOf();
  await send({ ...EVENT, id: "mine" });
  await send(EVENT);
  await send(EVENT);
  const ids = service.requests.map(idOf);
  expect(ids[0]).toBe("mine");
  expect(new Set(ids).size).toBe(3);
});

test("during a rotation each secret signs, and a look-up is asked anew on every attempt", async () => {
  const asked: string[] = [];
  const { send } = senderOf({
    secrets: async (workspaceId) => {
      asked.push(workspaceId);
      return asked.length === 1 ? "old" : ["new", "old"];
    },
  });
  inTurn(status(500));
  await send(EVENT);
  const [first, second] = await service.waitFor(2);
  if (first === undefined || second === undefined) throw new Error("two were waited for");
  const entries = ({ body }: ReceivedRequest, t: number, ...secrets: readonly string[]) =>
    secrets.map((secret) => signatureOf(secret, body, t).replace(`t=${t}`, "")).join("");
  const of = (request: ReceivedRequest, ...secrets: readonly string[]) =>
    `t=${timestampOf(request)}${entries(request, timestampOf(request), ...secrets)}`;
  expect(first.headers["service-signature"]).toBe(of(first, "old"));
  expect(second.headers["service-signature"]).toBe(of(second, "new", "old"));
  expect(asked).toEqual([WORKSPACE, WORKSPACE]);
});

// contract: kit-retry-same-id
test.each([
  ["a time-out", sayNothing()],
  ["a connection that is dropped", reset()],
  ["a connection that is closed without an answer", closeWithoutAnswer()],
  ["an answer that is not HTTP", garbage()],
  ["an answer without end", flood()],
  ["a 500", status(500)],
  ["a 502", status(502, { body: "<html>bad gateway</html>" })],
  ["a 503", status(503)],
  ["a 429", status(429)],
])("after %s the same bytes are sent again, signed with the time by then", async (_what, behaviour) => {
  // The last one is answered, and has to be in time, however busy the machine.
  const { send, pauses } = senderOf({ timeoutMs: 3_000 });
  inTurn(behaviour, behaviour);
  expect(await send(EVENT)).toMatchObject({ outcome: "accepted", attempts: 3 });
  expect(service.requests.map(({ body }) => body)).toEqual(Array(3).fill(service.requests[0]?.body));
  for (const request of service.requests) {
    expect(request.headers["service-signature"]).toBe(
      signatureOf(SECRET, request.body, timestampOf(request)),
    );
  }
  expect(pauses).toEqual([250, 500]);
  const [first = 0, , last = 0] = service.requests.map(timestampOf);
  // The pauses are on the kit's clock, which its signatures go by.
  expect(last * 1000 + 999 - first * 1000).toBeGreaterThanOrEqual(750);
});

// contract: kit-retry-same-id
test.each([
  [429, "3", 3_000],
  [503, "1", 1_000],
  [429, "0", 250],
  [429, "soon", 250],
])("after a %i with Retry-After %s the wait is %i ms or more", async (code, after, ms) => {
  const { send, pauses } = senderOf();
  inTurn(status(code, { headers: { "Retry-After": after } }));
  expect(await send(EVENT)).toMatchObject({ outcome: "accepted", attempts: 2 });
  expect(pauses).toEqual([ms]);
});

// contract: kit-no-retry-4xx
test.each([400, 401, 403, 404, 408, 409, 410, 413, 422])("a %i is never retried", async (code) => {
  const { send, pauses } = senderOf();
  const body = JSON.stringify({ statusCode: code, message: "no", error: "No", field: "user.id" });
  service.behave(status(code, { body }));
  expect(await send({ ...EVENT, id: "mine" })).toEqual({
    outcome: "refused",
    id: "mine",
    attempts: 1,
    status: code,
    field: "user.id",
    message: "no",
  });
  expect([service.requests.length, pauses]).toEqual([1, []]);
});

test.each([200, 204, 302])("a %i is not the service's answer: refused, and not followed", async (code) => {
  const { send } = senderOf();
  service.behave(status(code, { headers: { Location: service.url } }));
  expect(await send(EVENT)).toMatchObject({ outcome: "refused", status: code, attempts: 1 });
  expect(service.requests).toHaveLength(1);
});

test("an answer past its bound is not read to its end, and counts as a dropped connection", async () => {
  service.behave(flood({ bytes: 100_000, declared: true }));
  const { send } = senderOf({ attemptsMax: 1 });
  expect(await send(EVENT)).toMatchObject({ outcome: "given-up", reason: "connection" });
});

test("an event is given up after the attempts that it has, with the last answer", async () => {
  const { send, pauses } = senderOf({ attemptsMax: 4 });
  inTurn(status(500), reset(), status(500), status(503));
  expect(await send({ ...EVENT, id: "mine" })).toEqual({
    outcome: "given-up",
    id: "mine",
    attempts: 4,
    reason: "status",
    status: 503,
  });
  expect(pauses).toEqual([250, 500, 1000]);
});

test("an event is given up when its next attempt would come too late", async () => {
  // Attempts take their own time, too: of the 20 seconds that the first wait leaves.
  const { send, pauses } = senderOf({ giveUpAfterMs: 50_000 });
  service.behave(status(429, { headers: { "Retry-After": "30" } }));
  expect(await send(EVENT)).toMatchObject({ outcome: "given-up", attempts: 2, status: 429 });
  expect(pauses).toEqual([30_000]);
});

test("an abort ends an attempt that is under way", async () => {
  const abort = new AbortController();
  service.behave(sayNothing());
  const sent = senderOf({ timeoutMs: 3_600_000 }).send(EVENT, abort);
  await service.nth(1);
  abort.abort();
  expect(await sent).toMatchObject({ outcome: "given-up", attempts: 1, reason: "aborted" });
});

test("an abort ends a pause between attempts, however long", async () => {
  const abort = new AbortController();
  service.behave(status(503, { headers: { "Retry-After": "3600" } }));
  let pauses = 0;
  const pause: Timing["pause"] = (ms, signal) => {
    pauses++;
    return REAL_TIMING.pause(ms, signal);
  };
  const sender = senderOf({ timing: { ...REAL_TIMING, pause }, giveUpAfterMs: 86_400_000 });
  const sent = sender.send(EVENT, abort);
  await until("it pauses", () => pauses === 1);
  abort.abort();
  expect(await sent).toMatchObject({ outcome: "given-up", attempts: 1, reason: "aborted", status: 503 });
});

test("an abort that was there before sends nothing", async () => {
  const signal = AbortSignal.abort();
  expect(await senderOf().send(EVENT, { signal })).toMatchObject({ outcome: "given-up", reason: "aborted" });
  expect(service.requests).toHaveLength(0);
});

test("past the events that may be under way at once the next is given up unsent", async () => {
  const { send } = senderOf({ pendingMax: 2 });
  service.behave(sayNothing());
  const abort = new AbortController();
  const sent = [send(EVENT, abort), send(EVENT, abort)];
  await service.waitFor(2);
  expect(await send({ ...EVENT, id: "mine" })).toEqual({
    outcome: "given-up",
    id: "mine",
    attempts: 0,
    reason: "overloaded",
  });
  abort.abort();
  await Promise.all(sent);
  service.behave(status(202));
  expect(await send(EVENT)).toMatchObject({ outcome: "accepted" });
  expect(service.requests).toHaveLength(3);
});

test("a sender without a secret or an address is refused when it is made", () => {
  expect(() => senderOf({ secrets: "" })).toThrow("a signing secret is missing");
  expect(() => senderOf({ baseUrl: "games.example" })).toThrow("must be an http(s) address");
});

test("secrets that are not to be had reject, and nothing is sent", async () => {
  await expect(senderOf({ secrets: () => undefined }).send(EVENT)).rejects.toThrow("there are no secrets");
  expect(service.requests).toHaveLength(0);
});
