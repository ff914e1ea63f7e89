import { sayNothing, status } from "../harness/behaviours";
import { readMetrics, valueOf } from "../harness/metrics";
import { startPushService, type OwnPushService } from "../harness/push";
import { textEvent } from "../harness/service";
import { until } from "../harness/wait";

const QUEUE_MAX = 100;
const SOON_MS = 60_000;

let push: OwnPushService;
beforeAll(async () => {
  push = await startPushService(() => ({ PUSH_QUEUE_MAX: String(QUEUE_MAX) }));
}, 60_000);
afterAll(() => push.close());

const read = async (name: string, labels = ""): Promise<number> =>
  valueOf(await readMetrics(push.service.core), `chatbridge_core_push_${name}`, labels);

test("attempts are counted by what came of them, with how long they took, and how late a retry began", async () => {
  const bridge = await push.bridge();
  bridge.behave(({ attempt }) => status(attempt === 1 ? 500 : 204));
  await push.publish(textEvent(bridge.workspaceId, "x"));
  await push.logged(bridge.workspaceId, 2, SOON_MS);
  expect(await read("attempts_total", 'result="status"')).toBe(1);
  expect(await read("attempts_total", 'result="success"')).toBe(1);
  expect(await read("attempt_duration_seconds", "_count")).toBe(2);
  expect(await read("wait_seconds", "_count")).toBe(1);
  expect(await read("retry_lateness_seconds", "_count")).toBe(1);
  await until("the queue is empty", async () => (await read("queue_length")) === 0, SOON_MS);
  expect(await read("oldest_seconds")).toBe(0);
}, 90_000);

test("an event that is given up after its attempts is counted as failed", async () => {
  const bridge = await push.bridge();
  bridge.behave(status(500));
  await push.publish(textEvent(bridge.workspaceId, "x"));
  await push.logged(bridge.workspaceId, 3, SOON_MS);
  expect(await read("drops_total", 'reason="failed"')).toBe(1);
}, 90_000);

test("what waits and what is under way is told; past the bound of the queue an event is dropped as overloaded, counted and logged", async () => {
  const bridge = await push.bridge();
  bridge.behave(sayNothing());
  const events = (count: number) =>
    Array.from({ length: count }, (_, i) => textEvent(bridge.workspaceId, String(i)));
  await push.publish(...events(QUEUE_MAX));
  const over = await push.publish(...events(5));
  expect(await read("drops_total", 'reason="overloaded"')).toBe(5);
  const givenUp = await push.givenUp(bridge.workspaceId, over.length);
  expect(givenUp.map(({ reason, eventId }) => [reason, eventId])).toEqual(
    over.map(({ eventId }) => ["overloaded", eventId]),
  );
  expect(await read("queue_length")).toBe(QUEUE_MAX);
  // Of one reading: an attempt ends after 5 s.
  await until(
    "as many as may be are under way, and the others wait",
    async () => {
      const metrics = await readMetrics(push.service.core);
      const [underWay, waiting] = ["in_flight", "waiting"].map((name) =>
        valueOf(metrics, `chatbridge_core_push_${name}`),
      );
      return underWay === 16 && waiting === QUEUE_MAX - 16;
    },
    SOON_MS,
  );
  const aged = await read("oldest_seconds");
  await until("the oldest ages", async () => (await read("oldest_seconds")) > aged, SOON_MS);
  bridge.behave(status(204));
}, 90_000);
