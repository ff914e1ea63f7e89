import { status as grpc } from "@grpc/grpc-js";
import { DeliveryResult, ListDeliveriesRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { status } from "../harness/behaviours";
import { create, dm, ephemeral } from "../harness/contents";
import { sharedPush } from "../harness/push";
import { call, textEvent } from "../harness/service";
import { refusal } from "../harness/workspace-api";

const { SUCCESS, STATUS, TIMEOUT } = DeliveryResult;
/** Slower than an answer at once is on a machine that is busy with many connections. */
const SLOW_MS = 2_500;

const push = sharedPush();

function page(workspaceId: string, pageSize: number, pageToken = "") {
  const { workspaces } = push.service.clients;
  const request = ListDeliveriesRequest.create({ workspaceId, pageSize, pageToken });
  return call(workspaces, workspaces.listDeliveries, request);
}

test("the log has a line for each attempt: when, of what, the how manieth, what came of it, where and how long", async () => {
  const bridge = await push.bridge();
  bridge.behave(({ attempt, body }) =>
    attempt < 3 && body.includes('"type":"message.create"')
      ? status(attempt === 1 ? 503 : 404, { afterMs: 100 })
      : status(201),
  );
  const began = Date.now();
  const events = await push.publish(
    { workspaceId: bridge.workspaceId, content: create("c1") },
    { workspaceId: bridge.workspaceId, content: dm("u1") },
    { workspaceId: bridge.workspaceId, content: ephemeral("c1", "u1") },
  );
  const [first] = events;
  const log = await push.logged(bridge.workspaceId, 5);
  const of = (eventId: string | undefined) =>
    log
      .filter((entry) => entry.eventId === eventId)
      .map(({ eventType, attempt, result, status: code, address }) => [
        eventType,
        attempt,
        result,
        code,
        address,
      ]);
  expect(events.map(({ eventId }) => of(eventId))).toEqual([
    [
      ["message.create", 1, STATUS, 503, "127.0.0.1"],
      ["message.create", 2, STATUS, 404, "127.0.0.1"],
      ["message.create", 3, SUCCESS, 201, "127.0.0.1"],
    ],
    [["dm.create", 1, SUCCESS, 201, "127.0.0.1"]],
    [["message.ephemeral", 1, SUCCESS, 201, "127.0.0.1"]],
  ]);
  expect(new Set(log.map(({ id }) => id)).size).toBe(log.length);
  const times = log.map(({ at }) => at?.getTime() ?? 0);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times[0]).toBeGreaterThanOrEqual(began - 1_000);
  for (const { eventId, attempt, latencyMs } of log) {
    if (eventId === first?.eventId && attempt < 3) expect(latencyMs).toBeGreaterThanOrEqual(99);
    expect(latencyMs).toBeLessThan(5_000);
  }
});

test("the log is answered by page, newest first, each line once", async () => {
  const bridge = await push.bridge();
  const events = await push.publish(
    ...Array.from({ length: 25 }, (_, i) => textEvent(bridge.workspaceId, String(i))),
  );
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
  // Also where it has no room left, the last page says that it is the last.
  expect((await page(bridge.workspaceId, 25)).nextPageToken).toBe("");
  expect(new Set(paged.map(({ eventId }) => eventId))).toEqual(new Set(events.map(({ eventId }) => eventId)));
});

test("a page token of another form, a page too long and an unknown workspace are refused", async () => {
  const { workspaceId } = await push.bridge();
  await expect(page(workspaceId, 10, "nonsense")).rejects.toMatchObject(
    refusal(grpc.INVALID_ARGUMENT, "page_token"),
  );
  await expect(page(workspaceId, 1_001)).rejects.toMatchObject(refusal(grpc.INVALID_ARGUMENT, "page_size"));
  await expect(page("11111111-2222-4333-8444-555555555555", 10)).rejects.toMatchObject(
    refusal(grpc.NOT_FOUND, ""),
  );
});

test("the log of one workspace has nothing of another's", async () => {
  const [one, other] = await Promise.all([push.bridge(), push.bridge()]);
  const [event] = await push.publish(textEvent(one.workspaceId, "x"), textEvent(other.workspaceId, "y"));
  await push.logged(other.workspaceId, 1);
  const log = await push.logged(one.workspaceId, 1);
  expect(log.map(({ eventId }) => eventId)).toEqual([event?.eventId]);
});

describe("the health of a push workspace", () => {
  test("is empty before the first push", async () => {
    const { workspaceId } = await push.bridge();
    expect(await push.health(workspaceId)).toEqual({
      lastSuccess: undefined,
      lastFailure: undefined,
      attempts: 0,
      successes: 0,
      latencyP50Ms: 0,
      latencyP95Ms: 0,
      latencyP99Ms: 0,
    });
  });

  test("has the last success and failure, the attempts and successes, and percentiles of latency", async () => {
    const bridge = await push.bridge();
    const { workspaceId } = bridge;
    // 18 fast successes, 2 slow ones and a failure of three attempts.
    bridge.behave(status(200));
    await push.publish(...Array.from({ length: 18 }, (_, i) => textEvent(workspaceId, String(i))));
    await push.logged(workspaceId, 18);
    bridge.behave(status(200, { afterMs: SLOW_MS }));
    await push.publish(textEvent(workspaceId, "slow"), textEvent(workspaceId, "slow too"));
    await push.logged(workspaceId, 20);
    bridge.behave(status(500));
    await push.publish(textEvent(workspaceId, "refused"));
    const log = await push.logged(workspaceId, 23);
    const health = await push.health(workspaceId);
    expect(health).toMatchObject({
      lastSuccess: log[19],
      lastFailure: log[22],
      attempts: 23,
      successes: 20,
    });
    expect(health.latencyP50Ms).toBeLessThan(SLOW_MS);
    expect(health.latencyP95Ms).toBeGreaterThanOrEqual(SLOW_MS - 1);
    expect(health.latencyP99Ms).toBeGreaterThanOrEqual(health.latencyP95Ms);
  });

  test("counts a failure without an answer, and not a drop", async () => {
    const bridge = await push.bridge();
    bridge.welcome("silence");
    // Over by the time of its second attempt, at 6 s, and not by that of its first.
    const [event] = await push.publish({
      ...textEvent(bridge.workspaceId, "x"),
      lifetime: { seconds: 4, nanos: 0 },
    });
    const [timeout, drop] = await push.logged(bridge.workspaceId, 2, 15_000);
    expect([timeout?.result, drop?.result]).toEqual([TIMEOUT, DeliveryResult.EXPIRED]);
    expect([timeout?.eventId, drop?.eventId]).toEqual([event?.eventId, event?.eventId]);
    expect(await push.health(bridge.workspaceId)).toMatchObject({
      lastSuccess: undefined,
      lastFailure: timeout,
      attempts: 1,
      successes: 0,
    });
  });
});
