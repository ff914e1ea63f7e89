import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { holdAnswers, sayNothing, status } from "../harness/behaviours";
import { create, update } from "../harness/contents";
import { sharedPush, textEvents } from "../harness/push";
import type { ReceivedRequest } from "../harness/receiver";
import { textEvent } from "../harness/service";

const IN_FLIGHT_MAX = 16;

const push = sharedPush();

const textOf = ({ body }: ReceivedRequest): string =>
  (JSON.parse(body.toString()) as { message: { text: string } }).message.text;

// time: ordering
test.each([
  ["accepted", 204, 5],
  ["refused", 500, 6],
])("an update waits until the first attempt for its message is %s", async (_how, code, requests) => {
  const [bridge, held] = [await push.bridge(), holdAnswers()];
  const { workspaceId } = bridge;
  bridge.behave((request) => (textOf(request) === "A" && request.attempt === 1 ? held : status(204)));
  const card = { kind: MessageKind.CARD };
  const [created] = await push.publish({ workspaceId, content: create("c1", { ...card, text: "A" }) });
  const updated = (text: string) => ({
    workspaceId,
    content: update("c1", { ...card, id: created?.messageId ?? "", text }),
  });
  await push.publish(textEvent(workspaceId, "B"), updated("A2"), textEvent(workspaceId, "C"), updated("A3"));
  await bridge.waitFor(2);
  // What comes to another workspace later shows that nothing more comes to this one.
  const other = await push.bridge();
  await push.publish(textEvent(other.workspaceId, "x"));
  await other.waitFor(1);
  // Another message goes at once; what is behind the update waits with it, as sequences start in order.
  expect(bridge.requests.map(textOf).toSorted()).toEqual(["A", "B"]);
  held.release(code);
  await bridge.waitFor(requests);
  const at = (text: string, attempt = 1) =>
    bridge.requests.find((request) => textOf(request) === text && request.attempt === attempt)?.at ?? NaN;
  expect(at("A3")).toBeGreaterThan(at("A2"));
  expect(at("C")).not.toBeNaN();
  // A retry is not waited for: a bridge holds an update for its create.
  if (code === 500) expect(at("A2")).toBeLessThan(at("A", 2));
});

// time: ordering
test("a workspace does not wait for another at the same bridge, nor for a dead bridge", async () => {
  const [bridge, dead] = await Promise.all([push.bridge(), push.bridge()]);
  const other = await push.workspaces.make({ targetUrl: bridge.url });
  bridge.behave(({ headers }) => (headers["service-workspace"] === other.id ? status(204) : sayNothing()));
  dead.welcome("silence");
  await push.publish(...textEvents(bridge.workspaceId, 40), ...textEvents(dead.workspaceId, 40));
  await bridge.waitFor(IN_FLIGHT_MAX);
  await push.publish(...textEvents(other.id, 20));
  const log = await push.logged(other.id, 20);
  expect(log.map(({ status: code }) => code)).toEqual(Array(20).fill(204));
  // Their first attempts have not ended yet, for which a deadline of 5 seconds must run out.
  const stuck = await Promise.all([bridge, dead].map(({ workspaceId }) => push.deliveries(workspaceId)));
  expect(stuck).toEqual([[], []]);
});
