import { holdAnswers, status } from "../harness/behaviours";
import { readMetrics, valueOf } from "../harness/metrics";
import { cardUpdate, startPushService, textEvents, type OwnPushService } from "../harness/push";
import { textEvent } from "../harness/service";
import { until } from "../harness/wait";

const QUEUE_MAX = 100;

let push: OwnPushService;
beforeAll(async () => {
  push = await startPushService(() => ({ PUSH_QUEUE_MAX: String(QUEUE_MAX) }));
});
afterAll(() => push.close());

const read = async (name: string, labels = ""): Promise<number> =>
  valueOf(await readMetrics(push.service.core), `chatbridge_core_push_${name}`, labels);

test("metrics count push attempts by result and drops by reason, and measure how long attempts take and how late retries start", async () => {
  const bridge = await push.bridge();
  bridge.behave(({ attempt, body }) => status(attempt === 1 || body.includes("dropped") ? 500 : 204));
  await push.publish(textEvent(bridge.workspaceId, "x"), cardUpdate(bridge.workspaceId, "dropped"));
  await push.logged(bridge.workspaceId, 3);
  expect(await read("attempts_total", 'result="status"')).toBe(2);
  expect(await read("attempts_total", 'result="success"')).toBe(1);
  expect(await read("attempt_duration_seconds", "_count")).toBe(3);
  expect(await read("wait_seconds", "_count")).toBe(2);
  expect(await read("retry_lateness_seconds", "_count")).toBe(1);
  expect(await read("drops_total", 'reason="failed"')).toBe(1);
  await until("the queue is empty", async () => (await read("queue_length")) === 0);
  expect([await read("oldest_seconds"), await read("queue_bytes"), await read("in_hand_bytes")]).toEqual([
    0, 0, 0,
  ]);
});

test("an event over the queue's limit is counted, logged, and dropped as overloaded; metrics show how many pushes wait, and how many are in progress", async () => {
  const [bridge, held] = [await push.bridge(), holdAnswers()];
  bridge.behave(held);
  await push.publish(...textEvents(bridge.workspaceId, QUEUE_MAX));
  const over = await push.publish(...textEvents(bridge.workspaceId, 5));
  expect(await read("drops_total", 'reason="overloaded"')).toBe(5);
  const givenUp = await push.givenUp(bridge.workspaceId, over.length);
  expect(givenUp.map(({ reason, eventId }) => [reason, eventId])).toEqual(
    over.map(({ eventId }) => ["overloaded", eventId]),
  );
  expect(await read("queue_length")).toBe(QUEUE_MAX);
  // All values must come from one scrape, because they change when the attempts time out after 5 s.
  await until("16 attempts are in progress, and the other events wait", async () => {
    const metrics = await readMetrics(push.service.core);
    const names = ["in_flight", "waiting", "in_hand_bytes", "queue_bytes"];
    const [inProgress, waiting, inHand, queued = 0] = names.map((name) =>
      valueOf(metrics, `chatbridge_core_push_${name}`),
    );
    return inProgress === 16 && waiting === QUEUE_MAX - 16 && queued > 0 && inHand === queued;
  });
  const aged = await read("oldest_seconds");
  await until("the age of the oldest event grows", async () => (await read("oldest_seconds")) > aged);
  bridge.behave(status(204));
  held.release(204);
});
