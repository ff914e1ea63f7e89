import { status as grpc } from "@grpc/grpc-js";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { DeliveryResult, EventPlace } from "../../proto/gen/chatbridge/v1/workspace";
import { holdAnswers, status } from "../harness/behaviours";
import { poll } from "../harness/bridge";
import { create, dm, ephemeral, update, type MessageInit } from "../harness/contents";
import { call } from "../harness/core-clients";
import { askApi, signIn } from "../harness/dashboard";
import { TOKENS } from "../harness/processes";
import { cardUpdate, eventIdOf, sharedPush, textEvents, type PushedBridge } from "../harness/push";
import { until } from "../harness/wait";
import { expectRejected } from "../harness/workspace-api";

const { HELD, FETCHED, QUEUED, DELIVERED, FAILED, DROPPED } = EventPlace;
const EVENT_ID = "evt_01J0ABCDEFGHJKMNPQRSTVWXYZ";
const UNKNOWN = "11111111-2222-4333-8444-555555555555";
const LIFETIME = { seconds: 1, nanos: 0 };

const push = sharedPush();
const api = push.workspaces;

/** Returns an event's place, the results of its attempts, and the names of the tokens with which it was sent again. */
async function lifeOf(workspaceId: string, eventId: string) {
  const { place, attempts, sentAgain } = await api.event(workspaceId, eventId);
  const results = attempts.map(({ delivery }) => delivery?.result);
  return { place, results, by: sentAgain.map(({ tokenName }) => tokenName) };
}

const placed = (workspaceId: string, eventId: string, place: EventPlace) =>
  until(`the event's place is ${EventPlace[place]}`, async () => {
    const life = await lifeOf(workspaceId, eventId);
    return life.place === place && life;
  });

async function publishOne({ workspaceId }: PushedBridge, fields = {}) {
  const [event] = textEvents(workspaceId, 1);
  const [published] = await push.publish({ ...event, ...fields });
  return published?.eventId ?? "";
}

const JOIN: MessageInit = {
  kind: MessageKind.CARD,
  text: "Who is\n in?",
  rows: [{ buttons: [{ label: "Join", press: { $case: "action", value: "join" } }] }],
};

test("an event of a poll workspace is held until a poll fetches it, and each poll that returned the event is listed", async () => {
  const bridge = await push.bridge({ polls: true });
  const { workspaceId, secret } = bridge;
  const [, , event] = await push.publish(
    ...textEvents(workspaceId, 2),
    { workspaceId, content: create("general", JOIN) },
    ...textEvents(workspaceId, 1),
  );
  const eventId = event?.eventId ?? "";
  const held = await api.event(workspaceId, eventId);
  const summary = { channel: "general", userId: "", messageId: event?.messageId, text: "Who is in? [Join]" };
  expect(held).toMatchObject({
    eventId,
    eventType: "message.create",
    publisher: "game",
    summary,
    place: HELD,
    attempts: [],
    sentAgain: [],
    event: { eventId, sendAgainUntil: undefined },
  });
  const page = await poll(push.service.url, { id: workspaceId, secret });
  expect(page.body.toString()).toContain(held.event?.json ?? "no JSON");
  const { createdAt, expiresAt } = JSON.parse(held.event?.json ?? "") as Record<string, string>;
  expect([held.publishedAt?.toISOString(), held.expiresAt?.toISOString()]).toEqual([createdAt, expiresAt]);
  await poll(push.service.url, { id: workspaceId, secret }, "after=0&limit=2");
  await poll(push.service.url, { id: workspaceId, secret }, "after=0&limit=3");
  const { place, attempts } = await api.event(workspaceId, eventId);
  expect(place).toBe(FETCHED);
  const log = await push.deliveries(workspaceId);
  expect(log.map(({ events }) => events)).toEqual([4, 2, 3]);
  expect(attempts).toEqual([log[0], log[2]].map((delivery) => ({ delivery, response: undefined })));
});

test("an event that the bridge has accepted is shown as delivered, and its log entry contains a summary of the message", async () => {
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  const sent = await push.publish(
    { workspaceId, content: create("general", JOIN) },
    { workspaceId, content: ephemeral("general", "ada", { ...JOIN, rows: [] }) },
    { workspaceId, content: dm("ada", { ...JOIN, text: "" }) },
    { workspaceId, content: update("dm:ada", { ...JOIN, id: "msg_01J0ABCDEFGHJKMNPQRSTVWXYZ" }) },
  );
  const log = await push.logged(workspaceId, 4);
  const found = await Promise.all(sent.map(({ eventId }) => api.event(workspaceId, eventId)));
  expect(
    found.map(({ summary }) => [summary?.channel, summary?.userId, summary?.messageId, summary?.text]),
  ).toEqual([
    ["general", "", sent[0]?.messageId, "Who is in? [Join]"],
    ["general", "ada", sent[1]?.messageId, "Who is in?"],
    ["", "ada", sent[2]?.messageId, "[Join]"],
    ["", "ada", sent[3]?.messageId, "Who is in? [Join]"],
  ]);
  for (const [i, { eventId, expiresAt }] of sent.entries()) {
    const delivery = log.find((entry) => entry.eventId === eventId);
    expect(delivery?.summary).toEqual(found[i]?.summary);
    expect(found[i]).toMatchObject({ place: DELIVERED, publisher: "game", event: undefined, expiresAt });
    expect(found[i]?.attempts).toEqual([{ delivery, response: undefined }]);
    const ageMs = Date.now() - (found[i]?.publishedAt?.getTime() ?? 0);
    expect(Math.abs(ageMs)).toBeLessThan(60_000);
  }
});

// time: smoke
test("an event is queued before and between its attempts; a failed event is queued again when an operator sends it again", async () => {
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  const held = holdAnswers();
  bridge.behave(held);
  const eventId = await publishOne(bridge);
  await bridge.waitFor(1);
  expect(await api.event(workspaceId, eventId)).toMatchObject({
    place: QUEUED,
    publisher: "game",
    eventType: "message.create",
    summary: { channel: "c1", text: "0" },
    event: { eventId, json: bridge.requests[0]?.body.toString() },
    attempts: [],
  });
  held.release(500);
  await bridge.waitFor(2);
  const { STATUS, SUCCESS } = DeliveryResult;
  expect(await lifeOf(workspaceId, eventId)).toEqual({ place: QUEUED, results: [STATUS], by: [] });
  bridge.behave(status(503, { body: "restarting" }));
  held.release(500);
  expect(await placed(workspaceId, eventId, FAILED)).toMatchObject({ results: [STATUS, STATUS, STATUS] });
  const failed = await api.event(workspaceId, eventId);
  expect(failed.event?.sendAgainUntil).toBeInstanceOf(Date);
  expect(failed.attempts.map(({ response }) => response?.text)).toEqual([undefined, undefined, "restarting"]);

  bridge.behave(held);
  await api.sendAgain(workspaceId, eventId);
  await bridge.waitFor(4);
  expect(await lifeOf(workspaceId, eventId)).toMatchObject({ place: QUEUED, by: ["operator"] });
  expect((await api.event(workspaceId, eventId)).event?.sendAgainUntil).toBeUndefined();
  held.release(204);
  const delivered = await placed(workspaceId, eventId, DELIVERED);
  expect(delivered).toEqual({
    place: DELIVERED,
    results: [STATUS, STATUS, STATUS, SUCCESS],
    by: ["operator"],
  });
  const { sentAgain, attempts, publisher } = await api.event(workspaceId, eventId);
  expect(publisher).toBe("game");
  const [before, sent, after] = [attempts[2]?.delivery?.at, sentAgain[0]?.at, attempts[3]?.delivery?.at];
  expect(sent?.getTime()).toBeGreaterThanOrEqual(before?.getTime() ?? Infinity);
  expect(after?.getTime()).toBeGreaterThanOrEqual(sent?.getTime() ?? Infinity);
});

// time: smoke
test("an event that expires between its attempts, or whose workspace is disconnected, is dropped", async () => {
  const [expiring, closing] = [await push.bridge(), await push.bridge()];
  for (const bridge of [expiring, closing]) bridge.behave(status(500));
  const expired = await publishOne(expiring, { lifetime: LIFETIME });
  const { STATUS, EXPIRED, DISCONNECTED } = DeliveryResult;
  expect(await placed(expiring.workspaceId, expired, DROPPED)).toMatchObject({ results: [STATUS, EXPIRED] });
  const lost = await publishOne(closing);
  await push.logged(closing.workspaceId, 1);
  await api.disconnect(closing.workspaceId);
  const dropped = await placed(closing.workspaceId, lost, DROPPED);
  expect(dropped.results.at(-1)).toBe(DISCONNECTED);
  const { summary } = await api.event(closing.workspaceId, lost);
  expect(summary).toMatchObject({ channel: "c1", text: "0" });
});

// time: ordering
test("when a push workspace becomes a poll workspace, waiting events are held, or dropped with a summary in the log", async () => {
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  const held = holdAnswers();
  bridge.behave(held);
  // The test publishes more events than core pushes at the same time, so some are still queued.
  const sent = await push.publish(...textEvents(workspaceId, 40));
  const [updated] = await push.publish(cardUpdate(workspaceId, "new\u0085text"));
  const changed = updated?.eventId ?? "";
  await until("core waits for answers", () => held.waiting > 0);
  const last = sent.at(-1)?.eventId ?? "";
  expect(await lifeOf(workspaceId, last)).toEqual({ place: QUEUED, results: [], by: [] });
  await api.setTargetUrl(workspaceId, "");
  const [late] = await push.publish(...textEvents(workspaceId, 1));
  const releasing = setInterval(() => held.release(204), 50);
  try {
    expect(await placed(workspaceId, last, HELD)).toEqual({ place: HELD, results: [], by: [] });
    expect(await api.event(workspaceId, last)).toMatchObject({ publisher: "game", event: { eventId: last } });
    expect(await placed(workspaceId, changed, DROPPED)).toMatchObject({ results: [DeliveryResult.POLLS] });
    expect(await api.event(workspaceId, changed)).toMatchObject({
      publisher: "game",
      eventType: "message.update",
      summary: { channel: "c1", userId: "", text: "new text" },
    });
    expect((await lifeOf(workspaceId, late?.eventId ?? "")).place).toBe(HELD);
  } finally {
    clearInterval(releasing);
  }
});

test("a test event names the operator who sent it", async () => {
  const [pushed, polled] = [await push.bridge(), await push.bridge({ polls: true })];
  for (const { workspaceId } of [pushed, polled]) {
    const { eventId } = await api.sendTestEvent(workspaceId);
    const empty = { channel: "", userId: "", messageId: "", text: "" };
    expect(await api.event(workspaceId, eventId)).toMatchObject({
      eventType: "ping",
      publisher: "operator",
      summary: empty,
    });
  }
});

test("a lookup of another workspace's event, or of an event about which nothing is stored, fails with NOT_FOUND", async () => {
  const [mine, other] = [await push.bridge({ polls: true }), await push.bridge({ polls: true })];
  const eventId = await publishOne(mine);
  const nothing = /^event_id: core stores nothing about this event$/;
  await expectRejected(api.event(other.workspaceId, eventId), grpc.NOT_FOUND, nothing);
  for (const id of [EVENT_ID, "evt_00000000000000000000000000", "evt_ZZZZZZZZZZZZZZZZZZZZZZZZZZ"]) {
    await expectRejected(api.event(mine.workspaceId, id), grpc.NOT_FOUND, nothing);
  }
  for (const id of ["", "bytes", `${EVENT_ID}x`]) {
    await expectRejected(api.event(mine.workspaceId, id), grpc.INVALID_ARGUMENT, /^event_id must be/);
  }
  await expectRejected(api.event(UNKNOWN, eventId), grpc.NOT_FOUND, "no such workspace");
  const { workspaces } = push.service.clients;
  const asGame = call(
    workspaces,
    workspaces.getEvent,
    { workspaceId: mine.workspaceId, eventId },
    TOKENS.game,
  );
  await expectRejected(asGame, grpc.PERMISSION_DENIED, "operator");
});

test("the dashboard's API shows an event, and says when nothing is stored about it", async () => {
  const bridge = await push.bridge();
  bridge.behave(status(503, { body: "busy" }));
  const { workspaceId } = bridge;
  const [event] = await push.publish(cardUpdate(workspaceId, "round 2"));
  const eventId = event?.eventId ?? "";
  await placed(workspaceId, eventId, FAILED);
  const cookie = await signIn(push.service.dashboardUrl);
  const ask = (path: string, as = cookie) => askApi(push.service.dashboardUrl, path, { cookie: as });
  const [delivery] = (await ask(`/workspaces/${workspaceId}/deliveries`)).json as { summary: unknown }[];
  expect(eventIdOf(bridge.requests[0] as never)).toBe(eventId);
  const shown = await ask(`/workspaces/${workspaceId}/events/${eventId}`);
  const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;
  expect([shown.status, shown.json]).toEqual([
    200,
    {
      eventId,
      eventType: "message.update",
      publishedAt: ISO,
      expiresAt: ISO,
      publisher: "game",
      summary: { channel: "c1", userId: "", messageId: "msg_01J0ABCDEFGHJKMNPQRSTVWXYZ", text: "round 2" },
      place: "failed",
      event: { id: eventId, json: bridge.requests[0]?.body.toString(), sendAgainUntil: ISO },
      attempts: [{ delivery, response: { text: "busy", truncated: false } }],
      sentAgain: [],
    },
  ]);
  expect(delivery?.summary).toEqual((shown.json as { summary: unknown }).summary);
  const missing = await ask(`/workspaces/${workspaceId}/events/${EVENT_ID}`);
  expect([missing.status, missing.json]).toMatchObject([
    404,
    { message: expect.stringMatching(/^Nothing is stored about this event\./) as string },
  ]);
  const invalid = await ask(`/workspaces/${workspaceId}/events/nonsense`);
  expect([invalid.status, invalid.json]).toMatchObject([
    400,
    { field: "eventId", message: "The id of the event must be evt_ and 26 letters and digits." },
  ]);
  expect((await ask(`/workspaces/${UNKNOWN}/events/${eventId}`)).json).toMatchObject({
    message: "The workspace does not exist.",
  });
  expect((await ask(`/workspaces/${workspaceId}/events/${eventId}`, "")).status).toBe(401);
});
