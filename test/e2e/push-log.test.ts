import { status as grpc } from "@grpc/grpc-js";
import { DeliveryResult, PushStep } from "../../proto/gen/chatbridge/v1/workspace";
import { sayNothing, status } from "../harness/behaviours";
import { create, dm, ephemeral } from "../harness/contents";
import { cardUpdate, sharedPush, textEvents } from "../harness/push";
import { call } from "../harness/core-clients";
import { textEvent } from "../harness/service";
import { verifyPush } from "../harness/verify-push";
import { expectRejected } from "../harness/workspace-api";

const { SUCCESS, STATUS } = DeliveryResult;
const { NAME, ADDRESS, CONNECT, TLS, SEND } = PushStep;

const push = sharedPush();

function page(workspaceId: string, pageSize: number, pageToken = "") {
  const { workspaces } = push.service.clients;
  return call(workspaces, workspaces.listDeliveries, { workspaceId, pageSize, pageToken });
}

// time: ordering
test("the log contains a line for each attempt, with its time, event, number, result, address and latency", async () => {
  const bridge = await push.bridge();
  bridge.behave(({ attempt, body }) =>
    attempt === 1 && body.includes('"type":"message.create"') ? status(503, { afterMs: 100 }) : status(201),
  );
  const began = Date.now();
  const contents = [create("c1"), dm("u1"), ephemeral("c1", "u1")];
  const events = await push.publish(
    ...contents.map((content) => ({ workspaceId: bridge.workspaceId, content })),
  );
  const log = await push.logged(bridge.workspaceId, 4);
  const linesOf = (eventId: string) =>
    log
      .filter((line) => line.eventId === eventId)
      .map((line) => [line.eventType, line.attempt, line.result, line.status, line.address]);
  expect(events.map(({ eventId }) => linesOf(eventId))).toEqual([
    [
      ["message.create", 1, STATUS, 503, "127.0.0.1"],
      ["message.create", 2, SUCCESS, 201, "127.0.0.1"],
    ],
    [["dm.create", 1, SUCCESS, 201, "127.0.0.1"]],
    [["message.ephemeral", 1, SUCCESS, 201, "127.0.0.1"]],
  ]);
  expect(new Set(log.map(({ id }) => id)).size).toBe(log.length);
  const times = log.map(({ at }) => at?.getTime() ?? 0);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times[0]).toBeGreaterThanOrEqual(began);
  expect(times.at(-1)).toBeLessThanOrEqual(Date.now());
  expect(log.find(({ result }) => result === STATUS)?.latencyMs).toBeGreaterThanOrEqual(99);
});

test("the log is returned in pages, newest first, with each line once and no lines of other workspaces", async () => {
  const [bridge, other] = await Promise.all([push.bridge(), push.bridge()]);
  const events = await push.publish(...textEvents(bridge.workspaceId, 25));
  await push.publish(textEvent(other.workspaceId, "x"));
  await push.logged(other.workspaceId, 1);
  const whole = (await push.logged(bridge.workspaceId, 25)).toReversed();
  const paged = [];
  let token = "";
  do {
    const { deliveries, nextPageToken } = await page(bridge.workspaceId, 10, token);
    expect(deliveries.length).toBeLessThanOrEqual(10);
    paged.push(...deliveries);
    token = nextPageToken;
  } while (token !== "");
  expect(paged).toEqual(whole);
  // The last page has no token, even when it is full.
  expect((await page(bridge.workspaceId, 25)).nextPageToken).toBe("");
  expect(new Set(paged.map(({ eventId }) => eventId))).toEqual(new Set(events.map(({ eventId }) => eventId)));
});

test("a malformed page token, a page size over the limit and an unknown workspace are rejected", async () => {
  const { workspaceId } = await push.bridge();
  await expectRejected(page(workspaceId, 10, "nonsense"), grpc.INVALID_ARGUMENT, "page_token");
  await expectRejected(page(workspaceId, 1_001), grpc.INVALID_ARGUMENT, "page_size");
  await expectRejected(page("11111111-2222-4333-8444-555555555555", 10), grpc.NOT_FOUND, "");
});

test("the health of a push workspace shows its last success and failure, its attempts, and the latencies of successes", async () => {
  const { workspaceId, requests, behave } = await push.bridge();
  const none = { attempts: 0, successes: 0, latencyP50Ms: 0, latencyP95Ms: 0, latencyP99Ms: 0 };
  expect(await push.health(workspaceId)).toEqual({ lastSuccess: undefined, lastFailure: undefined, ...none });
  behave(() => status(200, { afterMs: 20 * requests.length }));
  await push.publish(...textEvents(workspaceId, 20));
  await push.logged(workspaceId, 20);
  behave(status(500));
  await push.publish(cardUpdate(workspaceId));
  const log = await push.logged(workspaceId, 21);
  const latencies = log.slice(0, 20).map(({ latencyMs }) => latencyMs);
  latencies.sort((a, b) => a - b);
  expect(await push.health(workspaceId)).toEqual({
    lastSuccess: log[19],
    lastFailure: log[20],
    attempts: 21,
    successes: 20,
    latencyP50Ms: latencies[9],
    latencyP95Ms: latencies[18],
    latencyP99Ms: latencies[19],
  });
});

// time: ordering
// contract: test-event-push, lifetime-60s
test("a test event is a signed ping; SendTestEvent returns the status code, the latency and every step", async () => {
  const bridge = await push.bridge();
  bridge.behave(status(207, { afterMs: 60 }));
  const { eventId, outcome } = await push.workspaces.sendTestEvent(bridge.workspaceId);
  if (outcome?.$case !== "push") throw new Error("not pushed");
  const { delivery, steps, failedStep, failure } = outcome.value;
  expect([failedStep, failure]).toEqual([PushStep.UNSPECIFIED, ""]);
  expect(delivery).toMatchObject({
    eventId,
    eventType: "ping",
    attempt: 1,
    result: DeliveryResult.SUCCESS,
    status: 207,
    address: "127.0.0.1",
  });
  expect(delivery?.latencyMs).toBeGreaterThanOrEqual(59);
  expect(steps.map(({ step }) => step)).toEqual([NAME, ADDRESS, CONNECT, TLS, SEND, PushStep.STATUS]);
  expect(steps.filter(({ detail }) => detail === "")).toEqual([]);
  expect([steps[0]?.detail, steps[5]?.detail]).toEqual(["127.0.0.1", "207"]);
  const times = steps.map(({ afterMs }) => afterMs);
  expect(times).toEqual(times.toSorted((a, b) => a - b));

  const envelope = verifyPush(await bridge.nth(1), [bridge.secret]);
  expect(Object.keys(envelope)).toEqual(["id", "type", "workspace", "sequence", "createdAt", "expiresAt"]);
  expect(envelope).toMatchObject({ id: eventId, type: "ping" });
  expect(Date.parse(envelope.expiresAt ?? "") - Date.parse(envelope.createdAt)).toBe(60_000);
  const log = await push.logged(bridge.workspaceId, 1);
  expect(log.map((entry) => [entry.eventId, entry.attempt, entry.status])).toEqual([[eventId, 1, 207]]);
});

test("a test event for a disconnected or unknown workspace is rejected", async () => {
  const bridge = await push.bridge();
  await push.workspaces.disconnect(bridge.workspaceId);
  await expectRejected(
    push.workspaces.sendTestEvent(bridge.workspaceId),
    grpc.FAILED_PRECONDITION,
    "not connected",
  );
  await expectRejected(
    push.workspaces.sendTestEvent("11111111-2222-4333-8444-555555555555"),
    grpc.NOT_FOUND,
    "",
  );
  expect(bridge.connections).toEqual([]);
});

test("a test event does not wait for the other events of a bridge", async () => {
  const bridge = await push.bridge();
  bridge.behave(({ body }) => (body.includes('"type":"ping"') ? status(204) : sayNothing()));
  await push.publish(...textEvents(bridge.workspaceId, 40));
  await bridge.waitFor(16);
  expect((await push.ping(bridge.workspaceId)).delivery).toMatchObject({ status: 204 });
});
