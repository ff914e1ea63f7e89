import { REAL_TIMING } from "../../bridge/back-off";
import { cursorInMemory } from "../../bridge/cursor-store";
import { eachEvent } from "../../bridge/each-event";
import type { OutboundEvent } from "../../bridge/events";
import { dmChannel, type InboundEvent } from "../../bridge/inbound-event";
import { runPoller, type PollerOptions } from "../../bridge/poller";
import { createSender } from "../../bridge/sender";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { startConsumer, type Consumer } from "../harness/consumer";
import { dm, ephemeral, published, update, type ContentInit } from "../harness/contents";
import { publish, textEvent, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const USER = { id: "u1", name: "Ada" };
const COMMAND: InboundEvent = { type: "command", channel: "c1", user: USER, text: "help" };

const service = sharedService();
let consumer: Consumer;
let workspace: TestWorkspace;
beforeAll(async () => {
  consumer = await startConsumer(service.clients.games, { group: "bridge-poll" }).opened();
  consumer.ackAll();
});
afterAll(() => consumer.cancel());
beforeEach(async () => {
  workspace = await service.workspaces.make();
});

const optionsOf = () => ({ baseUrl: service.url, workspaceId: workspace.id, secrets: workspace.secret });
const publishTexts = (...texts: readonly string[]) =>
  publish(service.clients, ...texts.map((text) => textEvent(workspace.id, text)));

/** Starts a poller that polls without its usual pauses. */
function startPoller(change: Partial<PollerOptions> = {}) {
  const abort = new AbortController();
  const shown: OutboundEvent[] = [];
  const problems: string[] = [];
  const ended = runPoller({
    ...optionsOf(),
    cursors: cursorInMemory(),
    timing: { ...REAL_TIMING, pause: (_ms, signal) => REAL_TIMING.pause(20, signal) },
    handle: eachEvent((event) => void shown.push(event)),
    report: ({ message }) => problems.push(message),
    signal: abort.signal,
    ...change,
  });
  const stop = () => {
    abort.abort();
    return ended;
  };
  return { shown, problems, ended, stop };
}

const textsOf = (events: readonly OutboundEvent[]) =>
  events.map((event) => (event.type === "ping" ? "" : event.message.text));

/** The events of this test's workspace that the game has received. */
const received = () =>
  consumer.seen.flatMap(({ workspaceId, received: { event } }) =>
    workspaceId === workspace.id ? [event] : [],
  );

const [DM, CHANNEL] = [dmChannel("u1"), { id: "c1", name: "general" }];
const PRESS = { type: "action", channel: DM, user: USER, messageId: "m1", action: "a:1" } as const;
const REPLY = { type: "message", channel: CHANNEL, user: USER, text: "42", replyTo: "m1" } as const;

// contract: repeat-id
test("each type of event that a bridge sends is accepted and reaches games, once under a request id", async () => {
  const sender = createSender(optionsOf());
  for (const event of [COMMAND, COMMAND, COMMAND, PRESS, REPLY]) {
    const id = event === COMMAND ? { id: "the same" } : {};
    expect(await sender.send({ ...event, ...id })).toMatchObject({ outcome: "accepted", attempts: 1 });
  }
  await until("the last one has come", () => received().some((event) => event?.kind?.$case === "message"));
  expect(received()).toMatchObject([
    { user: USER, kind: { $case: "command", value: { text: "help" } } },
    { user: USER, kind: { $case: "action", value: { messageId: "m1", action: "a:1" } } },
    { user: USER, kind: { $case: "message", value: { text: "42", replyTo: "m1" } } },
  ]);
});

// contract: poll-oldest-first, poll-next
test("a poller shows every type of event, once and in order, across pages", async () => {
  const { messageId } = published((await publishTexts("first"))[0]);
  const contents: ContentInit[] = [
    update("c1", { id: messageId, kind: MessageKind.QUESTION, text: "updated" }),
    ephemeral("c1", "u1"),
    dm("u1"),
  ];
  await publish(service.clients, ...contents.map((content) => ({ workspaceId: workspace.id, content })));
  const texts = Array.from({ length: 230 }, (_, i) => `event ${i}`);
  for (let i = 0; i < texts.length; i += 100) await publishTexts(...texts.slice(i, i + 100));
  const poller = startPoller();
  await until("all are shown", () => poller.shown.length >= 234);
  await poller.stop();
  expect(poller.shown.slice(0, 4)).toMatchObject([
    { type: "message.create", channel: "c1", message: { id: messageId, text: "first" } },
    { type: "message.update", channel: "c1", message: { id: messageId, kind: "question" } },
    { type: "message.ephemeral", channel: "c1", user: "u1" },
    { type: "dm.create", user: "u1" },
  ]);
  expect(textsOf(poller.shown.slice(4))).toEqual(texts);
  expect(poller.problems).toEqual([]);
});
