import { poll } from "../harness/bridge";
import { status } from "../harness/behaviours";
import { eventIdOf, sharedPush, textEvents, type PushedBridge } from "../harness/push";
import { textEvent } from "../harness/service";
import { until } from "../harness/wait";

const PUBLISHERS = 8;
const AT_ONCE = 4;
/** More than this number of events must be pushed, and more than this number held. */
const EACH_WAY = 20;

const push = sharedPush();

/** Polls for a page of the held events of a bridge. */
async function page({ workspaceId: id, secret }: PushedBridge, query = "") {
  const answer = await until("the workspace's request limit lets a poll pass", async () => {
    const { status: code, json } = await poll(push.service.url, { id, secret }, query);
    return code === 200 && json;
  });
  return answer as {
    events: { id: string; sequence: number }[];
    next: string;
    hasMore: boolean;
    gap: boolean;
  };
}

/** Polls for all held events of a bridge. */
async function heldBy(bridge: PushedBridge) {
  const pages = [await page(bridge)];
  for (let last = pages[0]; last?.hasMore; last = pages.at(-1)) {
    pages.push(await page(bridge, `after=${last.next}`));
  }
  return pages.flatMap(({ events }) => events);
}

const pushedTo = ({ requests }: PushedBridge): readonly string[] => requests.map(eventIdOf);
const clearUrl = ({ workspaceId }: PushedBridge) => push.workspaces.setTargetUrl(workspaceId, "");
const setUrl = ({ workspaceId, url }: PushedBridge) => push.workspaces.setTargetUrl(workspaceId, url);

// time: ordering
// contract: workspace-modes
test("each event that is published while the mode changes is either pushed or held, exactly once", async () => {
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
  // The mode switches between polling and pushing while events are published. The last mode is polling.
  for (const change of [clearUrl, setUrl, clearUrl, setUrl, clearUrl]) {
    const before = ids.length;
    await until("more events are published", () => ids.length > before + PUBLISHERS * AT_ONCE);
    await change(bridge);
  }
  // From now on, all events are held, except events whose publish calls were in progress at the last change.
  const before = ids.length;
  await until("more events are held", () => ids.length > before + PUBLISHERS * AT_ONCE + EACH_WAY);
  changed.abort();
  await Promise.all(publishers);

  // Events that were in the push queue at the last change are pushed or held one at a time.
  const held = await until("every event is pushed or held", async () => {
    const all = await heldBy(bridge);
    return all.length + bridge.requests.length >= ids.length && all;
  });
  const ways = [...pushedTo(bridge), ...held.map(({ id }) => id)];
  expect(ways.toSorted()).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(ids.length);
  // More than `EACH_WAY` events were pushed, more than `EACH_WAY` were held, and a poll serves the held events in
  // order.
  expect(Math.min(bridge.requests.length, held.length)).toBeGreaterThan(EACH_WAY);
  const sequences = held.map(({ sequence }) => sequence);
  expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
});

// contract: mode-to-push, mode-to-poll, poll-latest
test("when a target URL is set, only later events are pushed; clearing the URL does not change held events or cursors", async () => {
  const [bridge, pushedFirst] = await Promise.all([push.bridge({ polls: true }), push.bridge()]);
  const { workspaceId } = bridge;
  const held = [...(await push.publish(...textEvents(workspaceId, 2)))];
  const { next } = await page(bridge, "limit=1");
  await setUrl(bridge);
  const [pushed] = await push.publish(textEvent(workspaceId, "pushed"));
  await push.logged(workspaceId, 1);
  await clearUrl(bridge);
  held.push(...(await push.publish(textEvent(workspaceId, "held at last"))));
  const kept = held.map(({ eventId: id, sequence }) => ({ id, sequence }));
  expect(await heldBy(bridge)).toMatchObject(kept);
  expect(await page(bridge, `after=${next}`)).toMatchObject({
    events: kept.slice(1),
    gap: false,
    hasMore: false,
  });
  expect(pushedTo(bridge)).toEqual([pushed?.eventId]);
  // If a workspace has never held an event, its latest cursor is 0, even if events were pushed.
  await push.publish(textEvent(pushedFirst.workspaceId, "pushed"));
  await push.logged(pushedFirst.workspaceId, 1);
  await clearUrl(pushedFirst);
  expect(await page(pushedFirst, "after=latest")).toEqual({
    events: [],
    next: "0",
    hasMore: false,
    gap: false,
  });
});
