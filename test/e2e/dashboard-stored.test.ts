import { status } from "../harness/behaviours";
import { poll } from "../harness/bridge";
import { askApi, signIn, type ApiRequest } from "../harness/dashboard";
import { cardUpdate, eventIdOf, sharedPush, textEvents } from "../harness/push";
import { until } from "../harness/wait";

const UNKNOWN = "11111111-2222-4333-8444-555555555555";
const EVENT_ID = "evt_01J0ABCDEFGHJKMNPQRSTVWXYZ";
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;

const push = sharedPush();
const url = push.service.dashboardUrl;
let cookie: string;
beforeAll(async () => {
  cookie = await signIn(url);
});

const ask = (path: string, request: ApiRequest = {}) => askApi(url, path, { cookie, ...request });
const sendAgain = (id: string, body: unknown) =>
  ask(`/workspaces/${id}/send-again`, { method: "POST", body });

/** Returns a bridge that has rejected one event with the answer `body`, and the id of this event. */
async function failedBridge(body: string) {
  const bridge = await push.bridge();
  bridge.behave(status(503, { body }));
  const [event] = await push.publish(cardUpdate(bridge.workspaceId));
  await until("the event is kept", async () => (await push.workspaces.failedEvents(bridge.workspaceId))[0]);
  return { ...bridge, eventId: event?.eventId ?? "" };
}

test("the dashboard's API shows a failed delivery with its event and response, lists the failed event, and sends it again", async () => {
  const bridge = await failedBridge("<b>busy</b>\u0000");
  const { workspaceId: id, eventId } = bridge;
  const [entry] = (await ask(`/workspaces/${id}/deliveries`)).json as { id: string }[];
  const detail = await ask(`/workspaces/${id}/deliveries/${entry?.id}`);
  expect([detail.status, detail.json]).toEqual([
    200,
    {
      delivery: entry,
      events: [{ id: eventId, json: bridge.requests[0]?.body.toString(), sendAgainUntil: ISO }],
      response: { text: "<b>busy</b>\ufffd", truncated: false },
    },
  ]);
  const failed = await ask(`/workspaces/${id}/failed-events`);
  expect([failed.status, failed.json]).toEqual([
    200,
    [{ eventId, eventType: "message.update", failedAt: ISO, sendAgainUntil: ISO }],
  ]);
  bridge.behave(status(204));
  const sent = await sendAgain(id, { eventIds: [eventId, EVENT_ID] });
  expect([sent.status, sent.json]).toEqual([
    200,
    {
      results: [
        { eventId, result: "queued" },
        { eventId: EVENT_ID, result: "not-kept" },
      ],
    },
  ]);
  expect(eventIdOf(await bridge.nth(2))).toBe(eventId);
  await push.logged(id, 2);
  const [newest] = (await ask(`/workspaces/${id}/deliveries`)).json as { id: string }[];
  const delivered = await ask(`/workspaces/${id}/deliveries/${newest?.id}`);
  expect(delivered.json).toEqual({ delivery: newest, events: [], response: null });
  expect((await ask(`/workspaces/${id}/failed-events`)).json).toEqual([]);
});

test("the dashboard's API shows the events of a poll, which cannot be sent again", async () => {
  const { workspaceId: id, secret } = await push.bridge({ polls: true });
  const sent = await push.publish(...textEvents(id, 2));
  const page = await poll(push.service.url, { id, secret });
  const [entry] = (await ask(`/workspaces/${id}/deliveries`)).json as { id: string }[];
  const { events } = (await ask(`/workspaces/${id}/deliveries/${entry?.id}`)).json as {
    events: { id: string; json: string; sendAgainUntil: null }[];
  };
  expect(events.map((event) => [event.id, event.sendAgainUntil])).toEqual(
    sent.map(({ eventId }) => [eventId, null]),
  );
  for (const { json } of events) expect(page.body.toString()).toContain(json);
});

test.each([
  ["no ids", {}],
  ["an empty list", { eventIds: [] }],
  ["101 ids", { eventIds: Array<string>(101).fill(EVENT_ID) }],
  ["a number", { eventIds: [7] }],
  ["another field", { eventIds: [EVENT_ID], all: true }],
  ["an id that no event can have", { eventIds: ["bytes"] }],
  ["a very long id", { eventIds: ["x".repeat(65)] }],
])("the dashboard's API rejects a request to send again with %s", async (_what, body) => {
  const { workspaceId } = await push.bridge();
  const answer = await sendAgain(workspaceId, body);
  expect([answer.status, (answer.json as { message: string }).message]).toEqual([
    400,
    expect.stringMatching(/\.$/),
  ]);
});

test("the dashboard's API names the reason if a workspace cannot push, or the workspace or the entry does not exist", async () => {
  const { workspaceId: polls } = await push.bridge({ polls: true });
  const answers = [
    await sendAgain(polls, { eventIds: [EVENT_ID] }),
    await sendAgain(UNKNOWN, { eventIds: [EVENT_ID] }),
    await ask(`/workspaces/${UNKNOWN}/failed-events`),
    await ask(`/workspaces/${UNKNOWN}/deliveries/1-1`),
    await ask(`/workspaces/${polls}/deliveries/1-1`),
  ];
  const noWorkspace = [404, "The workspace does not exist."];
  const noEntry = [404, "The log no longer has this entry."];
  const told = answers.map((answer) => [answer.status, (answer.json as { message: string }).message]);
  expect(told).toEqual([
    [409, expect.stringMatching(/has no target URL.*\.$/)],
    noWorkspace,
    noWorkspace,
    noWorkspace,
    noEntry,
  ]);
  const invalid = await ask(`/workspaces/${polls}/deliveries/nonsense`);
  expect([invalid.status, invalid.json]).toMatchObject([
    400,
    { field: "deliveryId", message: "The id of the delivery must be the id of an entry of the log." },
  ]);
});

test("without a session, the dashboard's API neither shows stored events nor sends them again", async () => {
  const { workspaceId: id, eventId, requests } = await failedBridge("no");
  const [entry] = await push.logged(id, 1);
  const answers = [
    await ask(`/workspaces/${id}/deliveries/${entry?.id}`, { cookie: "" }),
    await ask(`/workspaces/${id}/failed-events`, { cookie: "" }),
    await ask(`/workspaces/${id}/send-again`, { method: "POST", body: { eventIds: [eventId] }, cookie: "" }),
  ];
  expect(answers.map((answer) => answer.status)).toEqual([401, 401, 401]);
  expect(await push.workspaces.failedEvents(id)).toHaveLength(1);
  expect(requests).toHaveLength(1);
});
