import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { sayNothing, status, type Behaviour } from "../harness/behaviours";
import { create, update, type EventInit } from "../harness/contents";
import { eventIdOf, type PushedBridge, sharedPush } from "../harness/push";
import type { ReceivedRequest } from "../harness/receiver";
import { textEvent } from "../harness/service";

const IN_FLIGHT_MAX = 16;
/** Long enough for what must not come to come all the same. */
const A_WHILE_MS = 300;

const push = sharedPush();

const updateOf = ({ workspaceId }: PushedBridge, id: string, text: string): EventInit => ({
  workspaceId,
  content: update("c1", { id, kind: MessageKind.CARD, text }),
});
const textOf = ({ body }: ReceivedRequest): string =>
  (JSON.parse(body.toString()) as { message: { text: string } }).message.text;

test("pushes of a workspace start in the order of their sequences, several in flight", async () => {
  const bridge = await push.bridge();
  const unanswered: ServerResponse[] = [];
  bridge.behave({ answer: ({ response }) => void unanswered.push(response) });
  const texts = (count: number) =>
    Array.from({ length: count }, (_, i) => textEvent(bridge.workspaceId, String(i)));
  await push.publish(...texts(IN_FLIGHT_MAX));
  await bridge.waitFor(IN_FLIGHT_MAX);
  const events = await push.publish(...texts(44));
  // Each answer makes room for one start: what arrives over several connections at once may arrive in any order.
  for (const index of events.keys()) {
    unanswered.shift()?.writeHead(204).end();
    await bridge.waitFor(IN_FLIGHT_MAX + index + 1);
    expect(unanswered).toHaveLength(IN_FLIGHT_MAX);
  }
  const started = bridge.requests.slice(IN_FLIGHT_MAX).map(eventIdOf);
  expect(started).toEqual(events.map(({ eventId }) => eventId));
});

test("at most 16 events of a workspace are in flight", async () => {
  const bridge = await push.bridge();
  const events = 4 * IN_FLIGHT_MAX;
  const unanswered: ServerResponse[] = [];
  let most = 0;
  const counted: Behaviour = {
    answer({ response }) {
      unanswered.push(response);
      most = Math.max(most, unanswered.length);
    },
  };
  bridge.behave(counted);
  await push.publish(...Array.from({ length: events }, (_, i) => textEvent(bridge.workspaceId, String(i))));
  // Lot by lot: none is answered before as many are there as may be, and one more would have come.
  for (let answered = IN_FLIGHT_MAX; answered <= events; answered += IN_FLIGHT_MAX) {
    await bridge.waitFor(answered);
    await sleep(A_WHILE_MS);
    for (const response of unanswered.splice(0)) response.writeHead(204).end();
  }
  await push.logged(bridge.workspaceId, events);
  expect(most).toBe(IN_FLIGHT_MAX);
});

test("16 that get no answer hold up what comes after them until the first of them has failed", async () => {
  const bridge = await push.bridge();
  bridge.behave((request) => (textOf(request) === "last" ? status(204) : sayNothing()));
  const stuck = Array.from({ length: IN_FLIGHT_MAX }, (_, i) => textEvent(bridge.workspaceId, String(i)));
  const began = performance.now();
  await push.publish(...stuck, textEvent(bridge.workspaceId, "last"));
  const requests = await bridge.waitFor(IN_FLIGHT_MAX + 1, 20_000);
  const last = requests.find((request) => textOf(request) === "last");
  // An attempt has failed 5 s after its start, which is before it arrives where a connection has to be made first.
  expect((last?.at ?? 0) - began).toBeGreaterThan(4_990);
});

test("an update never overtakes the first attempt of its message, which a failed one has ended", async () => {
  const bridges = await Promise.all([push.bridge(), push.bridge()]);
  const rows = await Promise.all(
    bridges.map(async (bridge, row) => {
      // Slow to accept the one, slow to refuse the other.
      const unanswered: ServerResponse[] = [];
      const waits: Behaviour = { answer: ({ response }) => void unanswered.push(response) };
      bridge.behave((request) => (textOf(request) === "A" && request.attempt === 1 ? waits : status(204)));
      const { workspaceId } = bridge;
      const message = { kind: MessageKind.CARD, text: "A" };
      const [created] = await push.publish({ workspaceId, content: create("c1", message) });
      await push.publish(
        textEvent(workspaceId, "B"),
        updateOf(bridge, created?.messageId ?? "", "A2"),
        textEvent(workspaceId, "C"),
        updateOf(bridge, created?.messageId ?? "", "A3"),
      );
      await bridge.waitFor(2);
      await sleep(A_WHILE_MS);
      const before = bridge.requests.map(textOf);
      for (const response of unanswered) response.writeHead(row === 0 ? 204 : 500).end();
      await bridge.waitFor(row === 0 ? 5 : 6);
      return { before, requests: bridge.requests };
    }),
  );
  for (const [row, { before, requests }] of rows.entries()) {
    // Another message goes at once; what is behind the update waits with it, as sequences start in order.
    expect(before.toSorted()).toEqual(["A", "B"]);
    const at = (text: string, attempt = 1) =>
      requests.find((request) => textOf(request) === text && request.attempt === attempt)?.at ?? Number.NaN;
    expect(at("A3")).toBeGreaterThan(at("A2"));
    expect(at("C")).not.toBeNaN();
    // Retries are not waited for: a bridge holds an update for its create.
    if (row === 1) expect(at("A2")).toBeLessThan(at("A", 2));
  }
});

test("one workspace does not wait for another at the same bridge", async () => {
  const bridge = await push.bridge();
  const other = await push.workspaces.make({ targetUrl: bridge.url });
  bridge.behave(({ headers }) => (headers["service-workspace"] === other.id ? status(204) : sayNothing()));
  await push.publish(...Array.from({ length: 40 }, (_, i) => textEvent(bridge.workspaceId, String(i))));
  await bridge.waitFor(IN_FLIGHT_MAX);
  await push.publish(...Array.from({ length: 20 }, (_, i) => textEvent(other.id, String(i))));
  const log = await push.logged(other.id, 20, 4_000);
  expect(log.map(({ status: code }) => code)).toEqual(Array(20).fill(204));
});
