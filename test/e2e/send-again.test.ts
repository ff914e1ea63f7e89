import { status as grpc } from "@grpc/grpc-js";
import { ChangeKind, DeliveryResult, SendAgainOutcome } from "../../proto/gen/chatbridge/v1/workspace";
import { status } from "../harness/behaviours";
import { poll } from "../harness/bridge";
import { call } from "../harness/core-clients";
import { outputOf } from "../harness/output";
import { TOKENS } from "../harness/processes";
import { cardUpdate, eventIdOf, sharedPush, textEvents } from "../harness/push";
import { verifyPush } from "../harness/verify-push";
import { until } from "../harness/wait";
import { expectRejected } from "../harness/workspace-api";

const { QUEUED, EXPIRED, NOT_KEPT } = SendAgainOutcome;
const { FAILED_PRECONDITION, INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED } = grpc;
const UNKNOWN = "11111111-2222-4333-8444-555555555555";
const EVENT_ID = "evt_01J0ABCDEFGHJKMNPQRSTVWXYZ";

const push = sharedPush();
const api = push.workspaces;

/**
 * Publishes an event that core does not retry. The bridge rejects the event; waits until core keeps it as a failed
 * event.
 */
async function failOne(workspaceId: string, text = "x", fields = {}) {
  const before = (await api.failedEvents(workspaceId)).length;
  const [event] = await push.publish({ ...cardUpdate(workspaceId, text), ...fields });
  await until("the event is kept", async () => (await api.failedEvents(workspaceId)).length > before);
  return event?.eventId ?? "";
}

test("an event whose push failed is kept; after the bridge is fixed, the event is sent again with the same id, sequence and bytes", async () => {
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  bridge.behave(status(503, { body: "restarting" }));
  const eventId = await failOne(workspaceId, "ä 🎲");
  const [failed, ...others] = await api.failedEvents(workspaceId);
  expect(others).toEqual([]);
  expect(failed).toMatchObject({ eventId, eventType: "message.update" });
  const age = Date.now() - (failed?.failedAt?.getTime() ?? 0);
  expect(Math.abs(age)).toBeLessThan(60_000);
  expect(failed?.sendAgainUntil?.getTime()).toBeGreaterThan(Date.now());

  // An event that fails again is kept again.
  expect(await api.sendAgain(workspaceId, eventId)).toEqual([{ eventId, outcome: QUEUED }]);
  await push.logged(workspaceId, 2);
  const again = await until("the event is kept again", async () => {
    const [found] = await api.failedEvents(workspaceId);
    return found !== undefined && found;
  });
  expect(again.eventId).toBe(eventId);
  bridge.behave(status(204));
  expect(await api.sendAgain(workspaceId, eventId)).toEqual([{ eventId, outcome: QUEUED }]);

  const requests = await bridge.waitFor(3);
  expect(requests.map((request) => eventIdOf(request))).toEqual([eventId, eventId, eventId]);
  expect(new Set(requests.map(({ body }) => body.toString())).size).toBe(1);
  for (const request of requests) verifyPush(request, [bridge.secret]);
  const log = await push.logged(workspaceId, 3);
  const { STATUS, SUCCESS } = DeliveryResult;
  expect(log.map(({ attempt, result }) => [attempt, result])).toEqual([
    [1, STATUS],
    [1, STATUS],
    [1, SUCCESS],
  ]);
  expect(await api.failedEvents(workspaceId)).toEqual([]);
  expect(await api.sendAgain(workspaceId, eventId)).toEqual([{ eventId, outcome: NOT_KEPT }]);
  const { workspaces } = push.service.clients;
  const { changes } = await call(workspaces, workspaces.listChanges, { workspaceId });
  const sent = changes.filter(({ kind }) => kind === ChangeKind.EVENTS_SENT_AGAIN);
  expect(sent.map(({ tokenName, detail }) => [tokenName, detail])).toEqual([
    ["operator", "1 event"],
    ["operator", "1 event"],
  ]);
});

// time: smoke
test("an event that is retried is kept only after its last attempt; when it is sent again, it gets three more attempts", async () => {
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  bridge.behave(status(500));
  await push.publish(...textEvents(workspaceId, 1));
  await push.logged(workspaceId, 1);
  expect(await api.failedEvents(workspaceId)).toEqual([]);
  await push.logged(workspaceId, 3);
  const [failed] = await until("the event is kept", async () => {
    const found = await api.failedEvents(workspaceId);
    return found.length > 0 && found;
  });
  await api.sendAgain(workspaceId, failed?.eventId ?? "");
  const log = await push.logged(workspaceId, 6);
  expect(log.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 1, 2, 3]);
});

// time: smoke
test("an expired event is not sent again, but the other events of the same call are", async () => {
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  bridge.behave(status(500));
  const short = await failOne(workspaceId, "short", { lifetime: { seconds: 5 } });
  const long = await failOne(workspaceId, "long");
  await until("the event has expired", async () => {
    const event = (await api.failedEvents(workspaceId)).find(({ eventId }) => eventId === short);
    return event !== undefined && event.sendAgainUntil === undefined;
  });
  bridge.behave(status(204));
  expect(await api.sendAgain(workspaceId, short, long)).toEqual([
    { eventId: short, outcome: EXPIRED },
    { eventId: long, outcome: QUEUED },
  ]);
  const last = (await bridge.waitFor(3)).at(-1);
  expect(last && eventIdOf(last)).toBe(long);
});

// time: ordering
test("two concurrent calls queue an event only once", async () => {
  const bridge = await push.bridge();
  bridge.behave(status(500));
  const eventId = await failOne(bridge.workspaceId);
  bridge.behave(status(204));
  const calls = Array.from({ length: 10 }, () => api.sendAgain(bridge.workspaceId, eventId));
  const outcomes = (await Promise.all(calls)).flat().map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => outcome === QUEUED)).toHaveLength(1);
  expect(outcomes.filter((outcome) => outcome === NOT_KEPT)).toHaveLength(9);
  // An event that is published now is pushed after the event that was sent again.
  await push.publish(cardUpdate(bridge.workspaceId, "later"));
  const ids = (await bridge.waitFor(3)).map((request) => eventIdOf(request));
  expect(ids.slice(0, 2)).toEqual([eventId, eventId]);
  expect(ids[2]).not.toBe(eventId);
});

test("invalid calls are rejected: the wrong number or form of ids, a workspace that does not push, and an unknown workspace", async () => {
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  const sendAgain = (...ids: string[]) => api.sendAgain(workspaceId, ...ids);
  await expectRejected(sendAgain(), INVALID_ARGUMENT, /^event_ids must have 1 to 100 ids$/);
  await expectRejected(sendAgain(...Array<string>(101).fill(EVENT_ID)), INVALID_ARGUMENT, /^event_ids must/);
  for (const id of ["", "bytes", `${EVENT_ID} `, `${EVENT_ID}\0`]) {
    await expectRejected(sendAgain(EVENT_ID, id), INVALID_ARGUMENT, /^event_ids: each id/);
  }
  expect(await sendAgain(...Array<string>(100).fill(EVENT_ID))).toHaveLength(100);
  bridge.behave(status(500));
  const eventId = await failOne(workspaceId);
  await api.setTargetUrl(workspaceId, "");
  await expectRejected(sendAgain(eventId), FAILED_PRECONDITION, /has no target URL/);
  expect(await api.failedEvents(workspaceId)).toMatchObject([{ eventId, sendAgainUntil: undefined }]);
  for (const id of [UNKNOWN, "nonsense"]) {
    for (const calling of [api.sendAgain(id, EVENT_ID), api.failedEvents(id), api.delivery(UNKNOWN, "1-1")]) {
      await expectRejected(calling, NOT_FOUND, "no such workspace");
    }
  }
  await expectRejected(
    api.delivery(workspaceId, "1-1"),
    NOT_FOUND,
    /^delivery_id: the log does not contain this entry$/,
  );
  for (const id of ["", "x", "99999999999999999999-0", `1-1'"`]) {
    await expectRejected(api.delivery(workspaceId, id), INVALID_ARGUMENT, /^delivery_id must be/);
  }
});

test("only operators can read stored events and send events again", async () => {
  const { workspaceId } = await push.bridge();
  const { workspaces } = push.service.clients;
  for (const token of [TOKENS.game, TOKENS.edge]) {
    for (const calling of [
      call(workspaces, workspaces.getDelivery, { workspaceId, deliveryId: "1-1" }, token),
      call(workspaces, workspaces.listFailedEvents, { workspaceId }, token),
      call(workspaces, workspaces.sendAgain, { workspaceId, eventIds: [EVENT_ID] }, token),
    ]) {
      await expectRejected(calling, PERMISSION_DENIED, "operator");
    }
  }
});

describe("log entries of failed attempts", () => {
  /** Returns the details of the only attempt to push an event to a bridge that answers with `body`. */
  async function rejected(body: string | Buffer | undefined, headers?: Record<string, string>) {
    const bridge = await push.bridge();
    bridge.behave(status(422, { ...(body !== undefined && { body }), ...(headers && { headers }) }));
    const eventId = await failOne(bridge.workspaceId);
    const [entry] = await push.logged(bridge.workspaceId, 1);
    const detail = await api.delivery(bridge.workspaceId, entry?.id ?? "");
    const [request] = bridge.requests;
    expect(detail.delivery).toEqual(entry);
    expect(detail.events).toEqual([
      { eventId, json: request?.body.toString(), sendAgainUntil: expect.any(Date) as Date },
    ]);
    return detail.response;
  }

  test.each([
    ["no body", undefined, undefined],
    ["a short body", "no channel ä", { text: "no channel ä", truncated: false }],
    ["1,024 bytes", "x".repeat(1_024), { text: "x".repeat(1_024), truncated: false }],
    ["16 KB", "y".repeat(16 * 1_024), { text: "y".repeat(1_024), truncated: true }],
    ["1 MB", "z".repeat(1_024 * 1_024), { text: "z".repeat(1_024), truncated: true }],
    ["escape sequences", "\u001b[2J\u0000\u0007", { text: "\ufffd[2J\ufffd\ufffd", truncated: false }],
    ["bytes that are not text", Buffer.from([0xff, 0xd8, 0x41]), { text: "\ufffd\ufffdA", truncated: false }],
  ])(
    "the log entry of a failed attempt contains the event and the start of the response, for a body with %s",
    async (_what, body, response) => {
      expect(await rejected(body)).toEqual(response);
      // With a Content-Length, the same body is not chunked.
      const length = { "Content-Length": String(Buffer.byteLength(body ?? "")) };
      expect(await rejected(body, length)).toEqual(response);
    },
  );

  test("the log entry of a failed test event contains the event and the response", async () => {
    const bridge = await push.bridge();
    bridge.behave(status(401, { body: "bad signature" }));
    const { delivery } = await push.ping(bridge.workspaceId);
    const detail = await api.delivery(bridge.workspaceId, delivery?.id ?? "");
    expect(detail.response).toEqual({ text: "bad signature", truncated: false });
    expect(detail.events.map(({ json }) => json)).toEqual([bridge.requests[0]?.body.toString()]);
    bridge.behave(status(204));
    const [event] = detail.events;
    expect(await api.sendAgain(bridge.workspaceId, event?.eventId ?? "")).toMatchObject([
      { outcome: QUEUED },
    ]);
    expect((await bridge.nth(2)).body).toEqual(bridge.requests[0]?.body);
  });

  test("core's log contains neither the event of a failed attempt nor the response", async () => {
    const secret = "only-the-owner-may-read-this";
    expect(await rejected(secret)).toMatchObject({ text: secret });
    const bridge = await push.bridge();
    bridge.behave(status(500));
    await failOne(bridge.workspaceId, `event-${secret}`);
    await push.givenUp(bridge.workspaceId, 1);
    expect(outputOf(push.service.core)).not.toContain(secret);
  });
});

test("the log entry of a delivered push contains neither the event nor the response", async () => {
  const bridge = await push.bridge();
  bridge.behave(status(200, { body: "thanks" }));
  await push.publish(cardUpdate(bridge.workspaceId));
  const [entry] = await push.logged(bridge.workspaceId, 1);
  const { events, response } = await api.delivery(bridge.workspaceId, entry?.id ?? "");
  expect([events, response]).toEqual([[], undefined]);
});

test("the log entry of a poll contains the events that the poll returned", async () => {
  const { workspaceId: id, secret } = await push.bridge({ polls: true });
  const sent = await push.publish(...textEvents(id, 12));
  const page = await poll(push.service.url, { id, secret }, "limit=10");
  const [entry] = await push.logged(id, 1);
  const { delivery, events, response } = await api.delivery(id, entry?.id ?? "");
  expect([delivery, response]).toEqual([entry, undefined]);
  expect(events.map(({ eventId }) => eventId)).toEqual(sent.slice(0, 10).map(({ eventId }) => eventId));
  expect(events.map(({ json }) => JSON.parse(json) as unknown)).toEqual(
    (page.json as { events: unknown[] }).events,
  );
  expect(events.map(({ sendAgainUntil }) => sendAgainUntil)).toEqual(Array(10).fill(undefined));
});
