import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cursorFile, cursorInMemory } from "../../bridge/cursor-store";
import { eachEvent } from "../../bridge/each-event";
import type { OutboundEvent } from "../../bridge/events";
import { dmChannel, type InboundEvent } from "../../bridge/inbound-event";
import { runPoller, type PollerOptions } from "../../bridge/poller";
import { createSender } from "../../bridge/sender";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { startConsumer, type Consumer } from "../harness/consumer";
import { dm, ephemeral, published, update } from "../harness/contents";
import { createWorkspace, publish, textEvent, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";
import { createWorkspaceApi, type WorkspaceApi } from "../harness/workspace-api";

const USER = { id: "u1", name: "Ada" };
const COMMAND: InboundEvent = { type: "command", channel: "c1", user: USER, text: "help" };

const service = sharedService();
let workspaces: WorkspaceApi;
let consumer: Consumer;
let workspace: TestWorkspace;
beforeAll(async () => {
  workspaces = createWorkspaceApi(service.clients.workspaces);
  consumer = startConsumer(service.clients.games);
  await consumer.opened();
  consumer.ackAll();
});
afterAll(async () => {
  consumer.cancel();
});
beforeEach(async () => {
  workspace = await createWorkspace(service.clients);
});

const senderOf = (change: Partial<Parameters<typeof createSender>[0]> = {}) =>
  createSender({ baseUrl: service.url, workspaceId: workspace.id, secrets: workspace.secret, ...change });

/** A poller that runs until it is stopped, and keeps what it shows. */
function startPoller(change: Partial<PollerOptions> = {}) {
  const abort = new AbortController();
  const shown: OutboundEvent[] = [];
  const problems: string[] = [];
  const ended = runPoller({
    baseUrl: service.url,
    workspaceId: workspace.id,
    secrets: workspace.secret,
    cursors: cursorInMemory(),
    handle: eachEvent((event) => void shown.push(event)),
    report: ({ message }) => problems.push(message),
    signal: abort.signal,
    ...change,
  });
  return {
    shown,
    problems,
    ended,
    stop() {
      abort.abort();
      return ended;
    },
  };
}

const textsOf = (events: readonly OutboundEvent[]) =>
  events.map((event) => (event.type === "ping" ? "" : event.message.text));

/** What games have seen of this test's workspace. */
const received = () =>
  consumer.seen
    .filter(({ workspaceId }) => workspaceId === workspace.id)
    .map(({ received: { event } }) => event);

test.each([
  ["a command", COMMAND, { $case: "command", value: { text: "help" } }],
  [
    "a press of a button in a DM",
    { type: "action", channel: dmChannel("u1"), user: USER, messageId: "m1", action: "a:1" },
    { $case: "action", value: { messageId: "m1", action: "a:1" } },
  ],
  [
    "a reply, with the channel's name",
    { type: "message", channel: { id: "c1", name: "general" }, user: USER, text: "42", replyTo: "m1" },
    { $case: "message", value: { text: "42", replyTo: "m1" } },
  ],
] as const)("%s that a bridge sends is accepted and comes to the games", async (_what, event, kind) => {
  expect(await senderOf().send(event)).toMatchObject({ outcome: "accepted", attempts: 1 });
  await until("it comes to the games", () => received().length === 1);
  expect(received()).toMatchObject([{ user: USER, kind }]);
});

// contract: repeat-id
test("an event under one request id is accepted as often as it is sent, and comes to the games once", async () => {
  const sender = senderOf();
  for (const _ of [1, 2, 3]) await sender.send({ ...COMMAND, id: "the same" });
  await sender.send({ ...COMMAND, text: "last" });
  await until("the last one has come", () => received().length >= 2);
  expect(received().map((event) => event?.kind?.value)).toMatchObject([{ text: "help" }, { text: "last" }]);
});

// contract: check-4, check-5, check-7
test.each([
  ["a field that breaks a rule", {}, { ...COMMAND, user: { id: "" } }, { status: 400, field: "user.id" }],
  ["a DM on a command", {}, { ...COMMAND, channel: "dm:u1" }, { status: 400, field: "channel" }],
  ["a wrong secret", { secrets: "wrong" }, COMMAND, { status: 401 }],
  ["an unknown workspace", { workspaceId: "0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11" }, COMMAND, { status: 404 }],
  [
    "a clock that is 6 minutes off",
    {
      timing: { now: () => Date.now() - 360_000, pause: async () => undefined, random: () => 0 },
    },
    COMMAND,
    { status: 409 },
  ],
  ["too large a body", {}, { ...COMMAND, text: "x".repeat(66_000) }, { status: 413 }],
] as const)("%s is refused with its status", async (_what, change, event, refused) => {
  expect(await senderOf(change).send(event)).toMatchObject({ outcome: "refused", attempts: 1, ...refused });
});

// contract: poll-oldest-first, poll-next
test("a poller shows every kind of event, once and in order, over as many pages as there are", async () => {
  const [first] = await publish(service.clients, textEvent(workspace.id, "first"));
  const { messageId } = published(first);
  const contents = [
    update("c1", { id: messageId, kind: MessageKind.QUESTION, text: "updated" }),
    ephemeral("c1", "u1"),
    dm("u1"),
  ];
  await publish(service.clients, ...contents.map((content) => ({ workspaceId: workspace.id, content })));
  const texts = Array.from({ length: 230 }, (_, i) => `event ${i}`);
  for (let i = 0; i < texts.length; i += 100) {
    await publish(service.clients, ...texts.slice(i, i + 100).map((text) => textEvent(workspace.id, text)));
  }
  const poller = startPoller();
  await until("all are shown", () => poller.shown.length >= 234, 20_000);
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

// contract: poll-after-omitted, poll-latest
test("a poller that was stopped carries on from its cursor file, and one without begins with the oldest or from now", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cb-poll-"));
  const cursors = cursorFile(join(folder, "cursor"));
  await publish(service.clients, textEvent(workspace.id, "one"));
  const latestCursors: (string | null)[] = [];
  const before = startPoller({ cursors });
  await until("the first is shown", () => before.shown.length === 1);
  await before.stop();
  await publish(service.clients, textEvent(workspace.id, "two"));
  const [after, oldest, latest] = [
    startPoller({ cursors }),
    startPoller(),
    startPoller({ start: "latest", handle: ({ next }) => void latestCursors.push(next) }),
  ];
  await until("the others are shown", () => after.shown.length === 1 && oldest.shown.length === 2);
  await until("the newest cursor is known", () => latestCursors.length > 0);
  await Promise.all([after, oldest, latest].map((poller) => poller.stop()));
  expect([textsOf(after.shown), textsOf(oldest.shown)]).toEqual([["two"], ["one", "two"]]);
  expect(latestCursors[0]).toBe(await cursors.load());
  rmSync(folder, { recursive: true });
});

// contract: kit-refused-create
test("what the chat refuses comes again until it takes it, and nothing is lost or shown twice", async () => {
  await publish(service.clients, ...["one", "two", "three"].map((text) => textEvent(workspace.id, text)));
  let refusals = 1;
  const shown: string[] = [];
  const poller = startPoller({
    handle: eachEvent((event) => {
      const [text = ""] = textsOf([event]);
      if (text === "two" && refusals-- > 0) throw new Error("the chat says no");
      shown.push(text);
    }),
  });
  await until("all are shown", () => shown.length === 3, 15_000);
  await poller.stop();
  expect(shown).toEqual(["one", "two", "three"]);
  expect(poller.problems).toEqual([expect.stringContaining("the chat says no")]);
});

// contract: rotation-inbound, rotation-outbound
test("through a rotation bridges with the old secret, the new one or both are served alike", async () => {
  const { signingSecret } = await workspaces.rotate(workspace.id);
  await publish(service.clients, textEvent(workspace.id, "hello"));
  const all = [workspace.secret, signingSecret, [signingSecret, workspace.secret]];
  const pollers = all.map((secrets) => startPoller({ secrets }));
  await until("all have shown it", () => pollers.every(({ shown }) => shown.length === 1));
  await Promise.all(pollers.map((poller) => poller.stop()));
  const sent = await Promise.all(all.map((secrets) => senderOf({ secrets }).send(COMMAND)));
  expect(sent.map(({ outcome }) => outcome)).toEqual(["accepted", "accepted", "accepted"]);
});

// contract: mode-to-push, poll-403
test("a poller ends with a 403 when a target URL is set, and with a 404 when the workspace is disconnected", async () => {
  const poller = startPoller();
  await workspaces.setTargetUrl(workspace.id, "https://8.8.8.8/events");
  await expect(poller.ended).rejects.toMatchObject({ name: "PollRefused", status: 403 });
  await workspaces.disconnect(workspace.id);
  await expect(startPoller().ended).rejects.toMatchObject({ name: "PollRefused", status: 404 });
});
