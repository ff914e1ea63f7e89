import { setTimeout as sleep } from "node:timers/promises";
import { DeliveryResult } from "../../proto/gen/chatbridge/v1/workspace";
import { poll } from "../harness/bridge";
import { holdAnswers, status } from "../harness/behaviours";
import { eventIdOf, sharedPush, textEvents, type PushedBridge } from "../harness/push";
import { textEvent } from "../harness/service";
import { until } from "../harness/wait";

const PUBLISHERS = 8;
const AT_ONCE = 4;
/** So many events at least are to go each way. */
const EACH_WAY = 20;
/** First attempts go by what core read of the workspace up to 50 ms before. */
const FRESH_MS = 50;

const push = sharedPush();

interface Held {
  readonly id: string;
  readonly sequence: number;
}

/** All that is held for a bridge that polls. */
async function heldBy({ workspaceId: id, secret }: PushedBridge): Promise<readonly Held[]> {
  const held: Held[] = [];
  for (let query = ""; ;) {
    const { status: code, headers, json } = await poll(push.service.url, { id, secret }, query);
    if (code === 429) {
      await sleep(Number(headers["retry-after"]) * 1_000);
      continue;
    }
    const { events, next, hasMore } = json as { events: Held[]; next: string; hasMore: boolean };
    held.push(...events);
    if (!hasMore) return held;
    query = `after=${next}`;
  }
}

const pushedTo = ({ requests }: PushedBridge): readonly string[] => requests.map(eventIdOf);
const clearUrl = ({ workspaceId }: PushedBridge) => push.workspaces.setTargetUrl(workspaceId, "");
const setUrl = ({ workspaceId, url }: PushedBridge) => push.workspaces.setTargetUrl(workspaceId, url);

// time: ordering
// contract: workspace-modes
test("each event that is published while the mode changes goes exactly one way: it is pushed, or it is held", async () => {
  const bridge = await push.bridge();
  bridge.behave(status(204, { afterMs: 15 }));
  const ids: string[] = [];
  const changed = new AbortController();
  const publishers = Array.from({ length: PUBLISHERS }, async () => {
    while (!changed.signal.aborted) {
      ids.push(
        ...(await push.publish(...textEvents(bridge.workspaceId, AT_ONCE))).map(({ eventId }) => eventId),
      );
    }
  });
  await bridge.waitFor(EACH_WAY + 1);
  // To polling and back, in the middle of calls to publish; it ends as a poll workspace.
  for (const change of [clearUrl, setUrl, clearUrl, setUrl, clearUrl]) {
    const before = ids.length;
    await until("more are published", () => ids.length > before + PUBLISHERS * AT_ONCE);
    await change(bridge);
  }
  // Of those that are answered from now on all but the ones under way at the change are held.
  const before = ids.length;
  await until("more are held", () => ids.length > before + PUBLISHERS * AT_ONCE + EACH_WAY);
  changed.abort();
  await Promise.all(publishers);

  // Those that were queued at the change are pushed or held, one after the other, until the queue is empty.
  const held = await until("every event went one way", async () => {
    const all = await heldBy(bridge);
    return all.length + bridge.requests.length >= ids.length && all;
  });
  const ways = [...pushedTo(bridge), ...held.map(({ id }) => id)];
  expect(ways.toSorted()).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(ids.length);
  // So that both ways were gone, and a poll serves them in order.
  expect(Math.min(bridge.requests.length, held.length)).toBeGreaterThan(EACH_WAY);
  const sequences = held.map(({ sequence }) => sequence);
  expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
});

// time: ordering
test("an event that was tried before the change is dropped, as its workspace polls; one that was not is held", async () => {
  const [bridge, waiting] = [await push.bridge(), holdAnswers()];
  bridge.behave(waiting);
  const ids = (await push.publish(...textEvents(bridge.workspaceId, 24))).map(({ eventId }) => eventId);
  await bridge.waitFor(16);
  await clearUrl(bridge);
  // By then first attempts read their workspace again.
  await sleep(FRESH_MS);
  waiting.release(500);
  const log = await until("all that were tried are dropped", async () => {
    const lines = (await push.deliveries(bridge.workspaceId)).filter(({ eventType }) => eventType !== "poll");
    return lines.length >= 32 && lines;
  });
  const linesOf = (id: string) =>
    log.filter(({ eventId }) => eventId === id).map(({ attempt, result }) => [attempt, result]);
  for (const id of ids.slice(0, 16)) {
    expect(linesOf(id)).toEqual([
      [1, DeliveryResult.STATUS],
      [1, DeliveryResult.POLLS],
    ]);
  }
  expect(ids.slice(16).flatMap(linesOf)).toEqual([]);
  expect((await heldBy(bridge)).map(({ id }) => id)).toEqual(ids.slice(16));
  expect(bridge.requests).toHaveLength(16);
});

// time: ordering
test("an attempt that is under way at the change and succeeds is the event's one way", async () => {
  const bridge = await push.bridge();
  const held = holdAnswers();
  bridge.behave(held);
  await push.publish(textEvent(bridge.workspaceId, "x"));
  await bridge.waitFor(1);
  await clearUrl(bridge);
  held.release(204);
  expect(await push.logged(bridge.workspaceId, 1)).toMatchObject([{ result: DeliveryResult.SUCCESS }]);
  expect(await heldBy(bridge)).toEqual([]);
});

// contract: mode-to-push, mode-to-poll
test("held events are never pushed, later ones are; back to polling, the held ones are served again", async () => {
  const bridge = await push.bridge({ polls: true });
  const [first, second] = await push.publish(
    textEvent(bridge.workspaceId, "held"),
    textEvent(bridge.workspaceId, "held too"),
  );
  await setUrl(bridge);
  const [pushed] = await push.publish(textEvent(bridge.workspaceId, "pushed"));
  await push.logged(bridge.workspaceId, 1);
  expect(pushedTo(bridge)).toEqual([pushed?.eventId]);
  await clearUrl(bridge);
  const [last] = await push.publish(textEvent(bridge.workspaceId, "held at last"));
  expect(await heldBy(bridge)).toMatchObject([
    { id: first?.eventId, sequence: first?.sequence },
    { id: second?.eventId, sequence: second?.sequence },
    { id: last?.eventId, sequence: last?.sequence },
  ]);
  expect(pushedTo(bridge)).toEqual([pushed?.eventId]);
});
