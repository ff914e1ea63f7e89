import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { DeliveryResult } from "../../proto/gen/chatbridge/v1/workspace";
import { closeWithoutAnswer, reset, sayNothing, status } from "../harness/behaviours";
import { create, dm, ephemeral, update, type ContentInit } from "../harness/contents";
import { cardUpdate, eventIdOf, sharedPush, textEvents } from "../harness/push";
import { textEvent } from "../harness/service";

/** Returns an update event. Each update in `ROWS` has its own message id, so that no update waits for another. */
const updated = (row: number, kind: MessageKind) =>
  update("c1", { id: `msg_01J0ABCDEFGHJKMNPQRSTVWX${String(row).padStart(2, "0")}`, kind, text: "x" });
/**
 * Events, each with the number of attempts that core makes if every attempt fails. All kinds are tested in
 * test/unit/retry.test.ts.
 */
const ROWS: readonly (readonly [name: string, attempts: number, content: ContentInit])[] = [
  ["message.create", 3, create("c1")],
  ["message.create of kind answer_update", 3, create("c1", { kind: MessageKind.ANSWER_UPDATE, text: "x" })],
  ["dm.create", 3, dm("u1")],
  ["message.ephemeral", 3, ephemeral("c1", "u1")],
  ["message.update of kind question", 3, updated(1, MessageKind.QUESTION)],
  ["message.update of kind game_end", 3, updated(2, MessageKind.GAME_END)],
  ["message.update of kind answer_update", 1, updated(3, MessageKind.ANSWER_UPDATE)],
];
const ATTEMPTS = ROWS.reduce((sum, [, attempts]) => sum + attempts, 0);

const push = sharedPush();

// time: smoke
// contract: retry-create, retry-phase, retry-never, retry-same-id, push-missed
test("a failed event is retried twice with the same bytes if its type and kind allow retries, and is then dropped", async () => {
  const [table, pinged] = await Promise.all([push.bridge(), push.bridge()]);
  for (const bridge of [table, pinged]) bridge.behave(status(500));
  await push.ping(pinged.workspaceId);
  await push.publish(textEvent(pinged.workspaceId, "an event has more attempts than a ping"));
  const events = await push.publish(
    ...ROWS.map(([, , content]) => ({ workspaceId: table.workspaceId, content })),
  );
  const ids = events.map(({ eventId }) => eventId);
  const [log] = await Promise.all([push.logged(table.workspaceId, ATTEMPTS), pinged.waitFor(4)]);

  const came = ids.map((id) => table.requests.filter((request) => eventIdOf(request) === id));
  const numbers = (row: number) => [1, 2, 3].slice(0, ROWS[row]?.[1]);
  expect(came.map((requests, row) => [ROWS[row]?.[0], requests.map(({ attempt }) => attempt)])).toEqual(
    ROWS.map(([name], row) => [name, numbers(row)]),
  );
  for (const requests of came) expect(new Set(requests.map(({ body }) => body.toString())).size).toBe(1);
  const logged = ids.map((id) => log.filter((line) => line.eventId === id).map(({ attempt }) => attempt));
  expect(logged).toEqual(ROWS.map((_, row) => numbers(row)));

  const givenUp = await push.givenUp(table.workspaceId, ROWS.length);
  expect(givenUp.map(({ eventId }) => String(eventId)).toSorted()).toEqual(ids.toSorted());
  const others = await push.givenUp(pinged.workspaceId, 1);
  expect(others).toHaveLength(1);
  for (const { reason } of [...givenUp, ...others]) expect(reason).toBe("failed");
  // One attempt to push the ping, and three attempts to push the event.
  expect(pinged.requests.map(({ attempt }) => attempt)).toEqual([1, 1, 2, 3]);
});

test.each([
  ["reset", reset()],
  ["closed without an answer", closeWithoutAnswer()],
])("an event without retries is sent once, even if its reused connection is %s", async (_name, broken) => {
  const bridge = await push.bridge();
  await push.publish(textEvent(bridge.workspaceId, "before"));
  await push.logged(bridge.workspaceId, 1);
  bridge.behave(broken);
  await push.publish(cardUpdate(bridge.workspaceId));
  const [, tried] = await push.logged(bridge.workspaceId, 2);
  expect([tried?.attempt, tried?.result]).toEqual([1, DeliveryResult.BODY]);
  expect(bridge.requests.map(({ connection, attempt }) => [connection, attempt])).toEqual([
    [1, 1],
    [1, 1],
  ]);
});

// time: ordering
test("a workspace's pushes wait neither for another workspace of the same bridge, nor for a bridge that does not answer", async () => {
  const [bridge, dead] = await Promise.all([push.bridge(), push.bridge()]);
  const other = await push.workspaces.make({ targetUrl: bridge.url });
  bridge.behave(({ headers }) => (headers["service-workspace"] === other.id ? status(204) : sayNothing()));
  dead.welcome("silence");
  await push.publish(...textEvents(bridge.workspaceId, 40), ...textEvents(dead.workspaceId, 40));
  await bridge.waitFor(16);
  await push.publish(...textEvents(other.id, 20));
  const log = await push.logged(other.id, 20);
  expect(log.map(({ status: code }) => code)).toEqual(Array(20).fill(204));
  // The first attempts of the other two workspaces are still in progress, until the deadline of 5 seconds.
  const stuck = await Promise.all([bridge, dead].map(({ workspaceId }) => push.deliveries(workspaceId)));
  expect(stuck).toEqual([[], []]);
});
