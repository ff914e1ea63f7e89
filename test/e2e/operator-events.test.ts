import { verify } from "../../kit/signature";
import { flood, redirect, reset, sayNothing, status, type Behaviour } from "../harness/behaviours";
import { poll } from "../harness/bridge";
import { call } from "../harness/core-clients";
import { startMailServer, type TestMailServer } from "../harness/mail-server";
import { readMetrics, valueOf } from "../harness/metrics";
import { openPollDue, type PollDue } from "../harness/poll-due";
import { freePort, startCore } from "../harness/processes";
import { cardUpdate, pushEnvironment, startPushService, type OwnPushService } from "../harness/push";
import { startReceiver, type ReceivedRequest, type Receiver } from "../harness/receiver";
import { textEvent } from "../harness/service";
import { until } from "../harness/wait";

const MINUTE_MS = 60_000;
const SECRET = "a-new-secret-of-more-than-32-characters";
const OLD_SECRET = "the-previous-secret-of-32-characters";

let push: OwnPushService;
let operator: Receiver;
let mail: TestMailServer;
let due: PollDue;
let settings: Record<string, string>;

beforeAll(async () => {
  mail = await startMailServer();
  const port = await freePort();
  settings = {
    OPERATOR_EVENTS_URL: `https://127.0.0.1:${port}/operator?a=b`,
    OPERATOR_EVENTS_SECRET: `${SECRET},${OLD_SECRET}`,
    OPERATOR_EVENTS_MAIL: "operators@service.test",
    SMTP_URL: mail.url,
    MAIL_FROM: "Bridges <bridges@service.test>",
  };
  push = await startPushService(() => settings);
  operator = await startReceiver({ certificate: push.ca.issue(["127.0.0.1"]), port });
  due = await openPollDue(push.service.redis);
});
afterAll(async () => {
  await due.close();
  await push.close();
  await operator.close();
  await mail.close();
});
beforeEach(() => operator.behave(status(204)));

interface Body {
  readonly id: string;
  readonly type: string;
  readonly workspace: { readonly id: string; readonly name: string };
  readonly [field: string]: unknown;
}

/** Checks the signature and the headers of a request. Returns its event. */
function read(request: ReceivedRequest, secrets: readonly string[] = [SECRET, OLD_SECRET]): Body {
  for (const secret of secrets) {
    const fault = verify(request.headers["service-signature"] as string, request.body, secret);
    expect(fault).toBeUndefined();
  }
  const body = JSON.parse(request.body.toString()) as Body;
  expect(request.headers).toMatchObject({
    "content-type": "application/json",
    "service-event-id": body.id,
    "service-workspace": body.workspace.id,
  });
  return body;
}

const eventsOf = (workspaceId: string, requests = operator.requests): readonly Body[] =>
  requests
    .filter(({ headers }) => headers["service-workspace"] === workspaceId)
    .map(({ body }) => JSON.parse(body.toString()) as Body);

const waitForEvents = (workspaceId: string, count: number, receiver = operator) =>
  until(`${count} operator events`, () => {
    const events = eventsOf(workspaceId, receiver.requests);
    return events.length >= count && events;
  });

/**
 * Publishes an event that core does not retry, and waits until its push fails. Core then reports that the retries are
 * exhausted.
 */
async function fail(workspaceId: string): Promise<string> {
  const [event] = await push.publish(cardUpdate(workspaceId));
  await until("the failed attempt is stored", async () => (await due.of(workspaceId)) !== undefined);
  return event?.eventId ?? "";
}

async function setAddress(workspaceId: string, address: string): Promise<string> {
  const { workspaces } = push.service.clients;
  return (await call(workspaces, workspaces.setOperatorEventsAddress, { workspaceId, address }))
    .signingSecret;
}

/** Starts a receiver with its own host name, and sends a workspace's operator events to it. */
async function startOwnReceiver(workspaceId: string) {
  const name = `ops-${workspaceId}.bridge.test`;
  push.names.set(name, ["127.0.0.1"]);
  const receiver = await startReceiver({ certificate: push.certificate, names: [name] });
  return { ...receiver, name, secret: await setAddress(workspaceId, receiver.url) };
}

// time: controlled
test("for an outage of a push workspace, exhausted, failing and recovered events are sent once each, in this order", async () => {
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  const own = await startOwnReceiver(workspaceId);
  bridge.behave(status(503));
  const eventId = await fail(workspaceId);
  await waitForEvents(workspaceId, 1);
  await fail(workspaceId);
  await due.pass(workspaceId, MINUTE_MS);
  await waitForEvents(workspaceId, 2);
  bridge.behave(status(204));
  await push.publish(cardUpdate(workspaceId));
  await waitForEvents(workspaceId, 3);
  await waitForEvents(workspaceId, 3, own);

  const requests = operator.requests.filter(({ headers }) => headers["service-workspace"] === workspaceId);
  const [exhausted, failing, recovered, ...more] = requests.map((request) => read(request));
  expect(more).toEqual([]);
  const workspace = { id: workspaceId, name: "test" };
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string;
  const common = { id: expect.stringMatching(/^op_/) as string, time, workspace, mode: "push", since: time };
  const fault = { reason: "status", status: 503 };
  const event = { id: eventId, type: "message.update", attempts: 1, count: 1 };
  expect(exhausted).toEqual({ ...common, type: "event.retries_exhausted", ...fault, event });
  expect(failing).toEqual({ ...common, type: "workspace.failing", ...fault });
  expect(recovered).toEqual({ ...common, type: "workspace.recovered", reason: "accepted" });
  expect(recovered?.["since"]).toBe(failing?.["since"]);
  // The workspace's own address gets the same events, signed with its own secret.
  expect(own.requests.map((request) => read(request, [own.secret]))).toEqual([exhausted, failing, recovered]);
  await until("the emails", () => mail.messages.filter(({ raw }) => raw.includes(workspaceId)).length >= 3);
  const mails = mail.messages.filter(({ raw }) => raw.includes(workspaceId));
  expect(mails.map(({ to }) => String(to))).toEqual(Array<string>(3).fill("operators@service.test"));
  expect(mails[1]?.raw).toMatch(new RegExp(`Message-ID:\\s+<${failing?.id}@service.test>`));
  expect(mails[1]?.raw).toContain("Subject: Failing: test");
  await own.close();
});

// time: controlled
test("an outage of a poll workspace is reported to operators, and the workspace's owner still gets one email", async () => {
  const { id, secret } = await push.workspaces.make({ name: "Polls", ownerEmail: "owner@customer.test" });
  await setAddress(id, "team@customer.test");
  await push.publish(textEvent(id, "a secret text"));
  await due.pass(id, 5 * MINUTE_MS);
  await waitForEvents(id, 1);
  await poll(push.service.url, { id, secret });
  const [failing, recovered] = await waitForEvents(id, 2);
  expect(failing).toMatchObject({ type: "workspace.failing", mode: "poll", reason: "not-polling" });
  expect(failing).toHaveProperty("oldestWaitingAt");
  expect(recovered).toMatchObject({ type: "workspace.recovered", mode: "poll", reason: "polled" });
  expect(JSON.stringify([failing, recovered])).not.toContain("a secret text");
  const about = () => mail.messages.filter(({ raw }) => raw.includes(id));
  await until("the emails", () => about().length >= 5);
  expect(
    about()
      .flatMap(({ to }) => to)
      .toSorted(),
  ).toEqual(
    ["operators@service.test", "operators@service.test", "owner@customer.test"].concat(
      Array<string>(2).fill("team@customer.test"),
    ),
  );
});

const HOSTILE: readonly (readonly [string, () => Behaviour])[] = [
  ["answers with 500", () => status(500)],
  ["redirects", () => redirect("https://127.0.0.1:1/", 307)],
  ["never answers", () => sayNothing()],
  ["closes the connection", () => reset()],
];
// time: ordering
test.each(HOSTILE)(
  "a receiver of operator events that %s delays neither other receivers nor pushes, and gets the event again with the same id",
  async (_what, behaviour) => {
    const bridge = await push.bridge();
    const { workspaceId } = bridge;
    const own = await startOwnReceiver(workspaceId);
    own.behave(behaviour());
    bridge.behave(status(503));
    await fail(workspaceId);
    await waitForEvents(workspaceId, 1);
    const healthy = await push.bridge();
    await push.publish(textEvent(healthy.workspaceId, "hello"));
    await healthy.waitFor(1);
    await own.waitFor(1);
    own.behave(status(204));
    const [first, second] = await own.waitFor(2);
    if (first === undefined || second === undefined) throw new Error("there are fewer than two requests");
    expect(read(second, [own.secret])).toEqual(read(first, [own.secret]));
    expect(eventsOf(workspaceId)).toHaveLength(1);
    await own.close();
  },
);

test("if a receiver's answer never ends, core reads only its start", async () => {
  const bridge = await push.bridge();
  const own = await startOwnReceiver(bridge.workspaceId);
  const endless = flood();
  own.behave(endless);
  bridge.behave(status(503));
  await fail(bridge.workspaceId);
  await own.waitFor(1);
  await until("core closes the connection", () => own.connections[0]?.closedAt !== undefined);
  expect(endless.sent).toBeLessThan(20_000_000);
  await own.close();
});

test("if a receiver's name starts to resolve to a private address, core does not send any request to it, and logs the reason", async () => {
  const bridge = await push.bridge();
  const own = await startOwnReceiver(bridge.workspaceId);
  push.names.set(own.name, ["10.0.0.1"]);
  bridge.behave(status(503));
  await fail(bridge.workspaceId);
  await until("the fault is logged", () =>
    push.service.core.log.some(
      ({ workspaceId, detail }) =>
        workspaceId === bridge.workspaceId && /not a public address/.test(String(detail)),
    ),
  );
  expect(own.requests).toEqual([]);
  // Core removes the event from the outbox when the workspace has no address for operator events.
  await setAddress(bridge.workspaceId, "");
  await own.close();
});

// time: ordering
test("if core is killed before it delivers an event, the next core delivers the event with the same id", async () => {
  operator.behave(sayNothing());
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  bridge.behave(status(503));
  const environment = { ...pushEnvironment(push.ca, push.names.server), ...settings };
  await fail(workspaceId);
  const [first] = await waitForEvents(workspaceId, 1);
  await push.service.core.stop("SIGKILL");
  operator.behave(status(204));
  const next = await startCore(push.service.redis.url, {
    ...environment,
    CORE_LISTEN: `127.0.0.1:${push.service.core.port}`,
  });
  try {
    const events = await waitForEvents(workspaceId, 2);
    expect(events[1]).toEqual(first);
    await until("the outboxes are empty", async () => {
      const metrics = await readMetrics(next);
      return metrics.get("chatbridge_core_operator_outbox_length")?.values.get("") === 0;
    });
    expect(eventsOf(workspaceId)).toHaveLength(2);
    const metrics = await readMetrics(next);
    const accepted = valueOf(metrics, "chatbridge_core_operator_events_total", 'outcome="accepted"');
    expect(accepted).toBeGreaterThan(0);
  } finally {
    await next.stop();
  }
});
