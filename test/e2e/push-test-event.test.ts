import { status as grpc } from "@grpc/grpc-js";
import { DeliveryResult, PushStep } from "../../proto/gen/chatbridge/v1/workspace";
import { sayNothing, status } from "../harness/behaviours";
import { sharedPush, textEvents } from "../harness/push";
import { verifyPush } from "../harness/verify-push";
import { expectRejected } from "../harness/workspace-api";

const { NAME, ADDRESS, CONNECT, TLS, SEND, STATUS } = PushStep;

const push = sharedPush();

const { sendTestEvent } = push.workspaces;

// time: ordering
// contract: test-event-push, lifetime-60s
test("a test event is a signed ping, whose status and latency are answered with every step", async () => {
  const bridge = await push.bridge();
  bridge.behave(status(207, { afterMs: 60 }));
  const { eventId, outcome } = await sendTestEvent(bridge.workspaceId);
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
  expect(steps.map(({ step }) => step)).toEqual([NAME, ADDRESS, CONNECT, TLS, SEND, STATUS]);
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

test("a test event of a disconnected or an unknown workspace is refused", async () => {
  const bridge = await push.bridge();
  await push.workspaces.disconnect(bridge.workspaceId);
  await expectRejected(sendTestEvent(bridge.workspaceId), grpc.FAILED_PRECONDITION, "not connected");
  await expectRejected(sendTestEvent("11111111-2222-4333-8444-555555555555"), grpc.NOT_FOUND, "");
  expect(bridge.connections).toEqual([]);
});

test("a test event does not wait behind a bridge's other events", async () => {
  const bridge = await push.bridge();
  bridge.behave(({ body }) => (body.includes('"type":"ping"') ? status(204) : sayNothing()));
  await push.publish(...textEvents(bridge.workspaceId, 40));
  await bridge.waitFor(16);
  expect((await push.ping(bridge.workspaceId)).delivery).toMatchObject({ status: 204 });
});
