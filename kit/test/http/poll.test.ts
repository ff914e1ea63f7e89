import { REAL_TIMING } from "../../back-off";
import { cursorInMemory } from "../../cursor-store";
import { eachEvent } from "../../each-event";
import type { OutboundEvent } from "../../events";
import { dmChannel, type InboundEvent } from "../../inbound-event";
import { runPoller } from "../../poller";
import { createPoll } from "../../poll";
import { createSender } from "../../sender";
import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { startConsumer, type Consumer } from "../../../test/harness/consumer";
import { dm, ephemeral, published, update } from "../../../test/harness/contents";
import { publish, textEvent, type TestWorkspace } from "../../../test/harness/service";
import { sharedService } from "../../../test/harness/shared-service";
import { until } from "../../../test/harness/wait";

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
const USER = { id: "u1", name: "Ada" };
const CHANNEL = { id: "c1", name: "general" };
const COMMAND: InboundEvent = { type: "command", id: "one", channel: "c1", user: USER, text: "help" };
const PRESS = { type: "action", channel: dmChannel("u1"), user: USER, messageId: "m1", action: "a" } as const;
const REPLY = { type: "message", channel: CHANNEL, user: USER, text: "42", replyTo: "m1" } as const;

// contract: repeat-id
test("every type of event that a bridge sends is accepted and reaches games, once for each request id", async () => {
  const { send } = createSender(optionsOf());
  for (const event of [COMMAND, COMMAND, COMMAND, PRESS, REPLY])
    expect(await send(event)).toMatchObject({ outcome: "accepted", attempts: 1 });
  const received = () => consumer.seen.filter(({ workspaceId }) => workspaceId === workspace.id);
  await until("the last event has arrived", () => received().some(({ text }) => text === "42"));
  expect(received().map((each) => each.received.event)).toMatchObject([
    { user: USER, kind: { $case: "command", value: { text: "help" } } },
    { user: USER, kind: { $case: "action", value: { messageId: "m1", action: "a" } } },
    { user: USER, kind: { $case: "message", value: { text: "42", replyTo: "m1" } } },
  ]);
});

test("names and texts that the chat cut in the middle of an emoji, or that are too long, are accepted", async () => {
  const { send } = createSender(optionsOf());
  const half = "Ann \ud83d";
  const cutByChat = { user: { id: "u1", name: half }, channel: { id: "c1", name: half } };
  const long = "😀".repeat(5_000);
  const events: readonly InboundEvent[] = [
    { ...cutByChat, type: "command", text: half },
    { ...cutByChat, type: "message", text: `${"x".repeat(3_999)}😀😀` },
    { ...PRESS, user: { id: "u1", name: long } },
    { type: "command", channel: { id: "c1", name: long }, user: USER, text: long },
    { type: "message", channel: "c1", user: USER, text: long },
  ];
  for (const event of events) expect(await send(event)).toMatchObject({ outcome: "accepted" });
});

test.each(["/", "//"])("the base URL can end with %s", async (slashes) => {
  const options = { ...optionsOf(), baseUrl: `${service.url}${slashes}` };
  expect(await createSender(options).send(COMMAND)).toMatchObject({ outcome: "accepted" });
  expect(await createPoll(options)(undefined, new AbortController().signal)).toMatchObject({ page: {} });
});

// contract: poll-oldest-first, poll-next
test("a poller handles events of every type except ping once and in order, across pages", async () => {
  const publishTexts = (...texts: readonly string[]) =>
    publish(service.clients, ...texts.map((text) => textEvent(workspace.id, text)));
  const { messageId } = published((await publishTexts("first"))[0]);
  const question = { id: messageId, kind: MessageKind.QUESTION, text: "updated" };
  const contents = [update("c1", question), ephemeral("c1", "u1"), dm("u1")];
  await publish(service.clients, ...contents.map((content) => ({ workspaceId: workspace.id, content })));
  const texts = Array.from({ length: 230 }, (_, i) => `event ${i}`);
  for (let i = 0; i < texts.length; i += 100) await publishTexts(...texts.slice(i, i + 100));
  const abort = new AbortController();
  const shown: OutboundEvent[] = [];
  const problems: string[] = [];
  const polled = runPoller({
    ...optionsOf(),
    cursors: cursorInMemory(),
    // Shortens the pauses between polls.
    timing: { ...REAL_TIMING, pause: (_ms, signal) => REAL_TIMING.pause(20, signal) },
    handle: eachEvent((event) => void shown.push(event)),
    report: ({ message }) => problems.push(message),
    signal: abort.signal,
  });
  await until("all events are shown", () => shown.length >= 234);
  abort.abort();
  await polled;
  expect(shown.slice(0, 4)).toMatchObject([
    { type: "message.create", channel: "c1", message: { id: messageId, text: "first" } },
    { type: "message.update", channel: "c1", message: { id: messageId, kind: "question" } },
    { type: "message.ephemeral", channel: "c1", user: "u1" },
    { type: "dm.create", user: "u1" },
  ]);
  expect(shown.slice(4).map((event) => event.type !== "ping" && event.message.text)).toEqual(texts);
  expect(problems).toEqual([]);
});
