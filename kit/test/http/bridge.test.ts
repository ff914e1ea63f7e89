import { execFile } from "node:child_process";
import { rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { dmChannel, folderStore, CannotShow, FolderInUse, RetryLater } from "../../index";
import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { startConsumer, type Consumer } from "../../../test/harness/consumer";
import {
  create,
  dm,
  ephemeral,
  published,
  update,
  type ContentInit,
  type MessageInit,
} from "../../../test/harness/contents";
import { testFolder } from "../../../test/harness/folder";
import { publish, type TestWorkspace } from "../../../test/harness/service";
import { sharedService } from "../../../test/harness/shared-service";
import { until } from "../../../test/harness/wait";
import { makeBridge, recordingChat, stopBridges } from "../harness/bridge-chat";

const KIT = resolve(__dirname, "../../../dist/kit");
const service = sharedService();
let consumer: Consumer;
let workspace: TestWorkspace;
beforeAll(async () => {
  consumer = await startConsumer(service.clients.games, { group: "kit-bridge" }).opened();
  consumer.ackAll();
});
afterAll(() => consumer.cancel());
beforeEach(async () => {
  workspace = await service.workspaces.make();
});
afterEach(stopBridges);

const folder = testFolder();
const optionsOf = () => ({ baseUrl: service.url, workspaceId: workspace.id, secrets: workspace.secret });
const card = (text: string) => ({ kind: MessageKind.CARD, text });
const join: MessageInit = {
  rows: [{ buttons: [{ label: "Join", press: { $case: "action", value: "join:1" } }] }],
};
const received = () => consumer.seen.filter(({ workspaceId }) => workspaceId === workspace.id);

/** Publishes an event, and returns the id of its message. */
async function publishOne(content: ContentInit): Promise<string> {
  const [result] = await publish(service.clients, { workspaceId: workspace.id, content });
  return published(result).messageId;
}

test("a bridge in poll mode shows creates, updates, ephemerals and DMs", async () => {
  const { bridge, calls, problems } = makeBridge(optionsOf());
  await bridge.start();
  const id = await publishOne(create("c1", card("first")));
  await publishOne(update("c1", { id, ...card("second") }));
  await publishOne(ephemeral("c1", "u1", card("for you")));
  const direct = await publishOne(dm("u1", card("direct")));
  await publishOne(update(dmChannel("u1"), { id: direct, ...card("direct, again") }));
  await until("all events are shown", () => calls.length === 5);
  // Calls for different messages may run in any order.
  expect(calls).toEqual(
    expect.arrayContaining([
      { call: "post", where: "c1", text: "first" },
      { call: "update", where: "c1", text: "second", ids: [expect.stringMatching("chat-")] },
      { call: "ephemeral", where: "c1 u1", text: "for you" },
      { call: "dm", where: "u1", text: "direct" },
      { call: "update", where: "dm:u1", text: "direct, again", ids: [expect.stringMatching("chat-")] },
    ]),
  );
  expect(problems).toEqual([]);
  expect(bridge.status).toMatchObject({ isConnected: true, problem: undefined });
});

test("reports of members carry the service's message ids, which the bridge looks up by the chat's ids", async () => {
  const { bridge, calls } = makeBridge(optionsOf());
  await bridge.start();
  const id = await publishOne(create("c1", { ...card("join?"), ...join }));
  const direct = await publishOne(dm("u1", { ...card("rematch?"), ...join }));
  await until("both messages are shown", () => calls.length === 2 && bridge.shown("chat-2") !== undefined);
  const [inChannel, inDm] = [bridge.shownIn("c1")[0], bridge.shownIn("dm:u1")[0]];
  expect(inChannel).toMatchObject({ messageId: id, channel: "c1", user: null, message: { text: "join?" } });
  expect(inDm).toMatchObject({ messageId: direct, channel: "dm:u1" });

  const user = { id: "u1", name: "A".repeat(200) };
  const [chatMessageId = ""] = inChannel?.chatMessageIds ?? [];
  const [dmMessageId = ""] = inDm?.chatMessageIds ?? [];
  const results = [
    await bridge.command({ channel: { id: "c1", name: "general" }, user, text: "start" }),
    await bridge.action({ chatMessageId, user: "u2", action: "join:1" }),
    await bridge.action({ chatMessageId: dmMessageId, user, action: "join:1" }),
    await bridge.message({ channel: "c1", user, text: "42", replyTo: chatMessageId }),
    await bridge.message({ channel: dmChannel("u1"), user, text: "43", replyTo: "a message of a member" }),
    await bridge.action({ chatMessageId: "a message of a member", user, action: "join:1" }),
  ];
  expect(results.map(({ outcome }) => outcome)).toEqual([
    ...Array.from({ length: 5 }, () => "accepted"),
    "unknown-message",
  ]);
  await until("all reports have arrived", () => received().length === 5);
  const name = "A".repeat(128);
  expect(received().map((each) => each.received.event)).toMatchObject([
    { channel: { id: "c1", name: "general" }, user: { id: "u1", name }, kind: { value: { text: "start" } } },
    { channel: { id: "c1" }, user: { id: "u2" }, kind: { value: { messageId: id, action: "join:1" } } },
    { channel: { id: "dm:u1" }, kind: { value: { messageId: direct, action: "join:1" } } },
    { kind: { value: { text: "42", replyTo: id } } },
    { kind: { value: { text: "43", replyTo: undefined } } },
  ]);
});

test("a number presses a button of the newest message with actions in the channel", async () => {
  const { bridge } = makeBridge(optionsOf());
  await bridge.start();
  const nothing = await bridge.choose({ channel: "c1", number: 1, user: "u1" });
  expect(nothing).toEqual({ outcome: "unknown-choice", highest: 0 });
  const buttons = [
    { label: "Help", press: { $case: "url", value: "https://help.example" } },
    { label: "A", press: { $case: "action", value: "a" } },
    { label: "B", press: { $case: "action", value: "b" } },
  ] as const;
  const older = await publishOne(create("c1", { ...card("older"), ...join }));
  const newer = await publishOne(create("c1", { ...card("newer"), rows: [{ buttons: [...buttons] }] }));
  await publishOne(create("c1", card("no buttons")));
  await publishOne(ephemeral("c1", "u2", { ...card("only for u2"), ...join }));
  await until("all messages are shown", () => bridge.shownIn("c1").length === 4);
  const choose = (number: number) => bridge.choose({ channel: "c1", number, user: "u1" });
  for (const number of [0, 3, 1.5, NaN])
    expect(await choose(number)).toEqual({ outcome: "unknown-choice", highest: 2 });
  expect(await choose(2)).toMatchObject({ outcome: "accepted" });
  await publishOne(update("c1", { id: older, ...card("older, updated"), ...join }));
  await until("the update is shown", () => bridge.shownIn("c1")[0]?.messageId === older);
  expect(await choose(1)).toMatchObject({ outcome: "accepted" });
  await until("both presses have arrived", () => received().length === 2);
  expect(received().map((each) => each.received.event)).toMatchObject([
    { channel: { id: "c1" }, kind: { value: { messageId: newer, action: "b" } } },
    { channel: { id: "c1" }, kind: { value: { messageId: older, action: "join:1" } } },
  ]);
});

test("a restarted bridge updates the messages of its last run, and posts nothing twice", async () => {
  const store = () => folderStore(`${folder}/state`);
  const first = makeBridge({ ...optionsOf(), store: store() });
  await first.bridge.start();
  const id = await publishOne(create("c1", { ...card("before"), ...join }));
  await until("the message is shown", () => first.bridge.shownIn("c1").length === 1);
  await first.bridge.stop();

  await publishOne(update("c1", { id, ...card("after") }));
  const second = makeBridge({ ...optionsOf(), store: store() });
  await second.bridge.start();
  await until("the update is shown", () => second.bridge.shown("chat-1")?.message.text === "after");
  await second.bridge.stop();
  expect(second.calls).toEqual([{ call: "update", where: "c1", text: "after", ids: ["chat-1"] }]);

  // A bridge that was killed before it saved its cursor gets all events again.
  const third = makeBridge({ ...optionsOf(), store: { ...store(), cursors: makeCursors() } });
  await third.bridge.start();
  const last = await publishOne(create("c1", card("last")));
  await until("the last message is shown", () => third.bridge.shownIn("c1")[0]?.messageId === last);
  expect(third.calls).toEqual([{ call: "post", where: "c1", text: "last" }]);
});

function makeCursors() {
  let kept: string | undefined;
  return { load: async () => kept, save: async (cursor: string) => void (kept = cursor) };
}

test("a create that the chat refuses is retried, but the error CannotShow drops the create and its updates", async () => {
  const recorded = recordingChat();
  let refusals = 0;
  const chat = {
    ...recorded.chat,
    async post(...[event, signal]: Parameters<typeof recorded.chat.post>) {
      if (event.message.text === "never") throw new CannotShow("the bridge was removed from the room");
      if (event.message.text === "later" && refusals++ === 0) throw new RetryLater(50);
      return recorded.chat.post(event, signal);
    },
  };
  const { bridge, problems } = makeBridge({ ...optionsOf(), chat });
  await bridge.start();
  const never = await publishOne(create("c1", card("never")));
  await publishOne(create("c1", card("later")));
  await publishOne(update("c1", { id: never, ...card("an update of never") }));
  await publishOne(create("c2", card("end")));
  await until("the last messages are shown", () => recorded.calls.length === 2);
  expect([...recorded.texts()].toSorted()).toEqual(["end", "later"]);
  expect(problems).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^message.create evt_\w+ was dropped: the bridge was removed from the room$/),
      expect.stringMatching(
        /^the chat refused message.create evt_\w+: the chat allows the next request in 50 ms$/,
      ),
    ]),
  );
});

test("without a function for ephemerals, an ephemeral is sent as a DM", async () => {
  const { chat, calls } = recordingChat();
  const { ephemeral: _, ...others } = chat;
  const { bridge } = makeBridge({ ...optionsOf(), chat: others });
  await bridge.start();
  await publishOne(ephemeral("c1", "u1", card("for you")));
  await until("the message is shown", () => calls.length === 1);
  expect(calls).toEqual([{ call: "dm", where: "u1", text: "for you" }]);
  await until("the message is known", () => bridge.shown("chat-1") !== undefined);
  expect(bridge.shown("chat-1")).toMatchObject({ channel: "c1", user: "u1" });
});

test("start rejects with a hint if the service refuses the first poll", async () => {
  const wrongSecret = makeBridge({ ...optionsOf(), secrets: "not the secret" });
  await expect(wrongSecret.bridge.start()).rejects.toThrow(
    "the service answered with 401: Service-Signature is missing, malformed or wrong (check that the signing secret",
  );
  const pushed = await service.workspaces.make({ targetUrl: "https://127.0.0.1:9/events" });
  const polling = makeBridge({ baseUrl: service.url, workspaceId: pushed.id, secrets: pushed.secret });
  await expect(polling.bridge.start()).rejects.toThrow(
    'clear the URL in the dashboard, or set mode to "push"',
  );
});

test("while a bridge uses a folder, another bridge does not start with it, and leaves the files unchanged", async () => {
  const path = `${folder}/shared`;
  const first = makeBridge({ ...optionsOf(), store: folderStore(path) });
  await first.bridge.start();
  const file = `${path}/messages.jsonl`;
  const before = statSync(file).ino;
  const second = makeBridge({ ...optionsOf(), store: folderStore(path) });
  await expect(second.bridge.start()).rejects.toThrow(FolderInUse);
  expect(statSync(file).ino).toBe(before);
  await second.bridge.stop();
  await first.bridge.stop();
  // A bridge that the service refuses releases its folder, too.
  const refused = makeBridge({ ...optionsOf(), secrets: "another secret", store: folderStore(path) });
  await expect(refused.bridge.start()).rejects.toThrow("401");
  const next = makeBridge({ ...optionsOf(), store: folderStore(path) });
  await next.bridge.start();
});

test("start rejects with the reason if the store cannot be loaded", async () => {
  const store = folderStore("/dev/null/state");
  const { bridge } = makeBridge({ ...optionsOf(), store });
  await expect(bridge.start()).rejects.toThrow("cannot load the messages from the store: ENOTDIR");
  await bridge.stop();
});

test("the error about a missing or invalid option names the option", () => {
  const make = (change: object) => () => makeBridge({ ...optionsOf(), ...change });
  expect(make({ baseUrl: "" })).toThrow("baseUrl is missing: give the service's address");
  expect(make({ workspaceId: "" })).toThrow('workspaceId must be the UUID that the dashboard shows, not ""');
  expect(make({ secrets: "" })).toThrow("a signing secret is missing");
  expect(make({ listen: { port: 0 } })).toThrow("listen is only for pushes");
  const pushed = (listen: object) => make({ mode: "push", listen: { port: 0, ...listen } });
  expect(pushed({ key: "a key" })).toThrow("listen needs both key and cert");
  expect(pushed({ path: "events" })).toThrow('listen.path must begin with "/"');
});

test("if the service refuses an event, the bridge returns the refusal, and reports why the event was not sent", async () => {
  const { bridge, problems } = makeBridge(optionsOf());
  const result = await bridge.command({ channel: "dm:u1", user: "u1", text: "" });
  expect(result).toMatchObject({ outcome: "refused", status: 400, field: "channel" });
  expect(problems).toEqual([
    expect.stringMatching("^a command was not sent: the service answered with 400: channel: "),
  ]);
});

test("a bridge that is already starting cannot be started again", async () => {
  const { bridge } = makeBridge(optionsOf());
  const started = bridge.start();
  await expect(bridge.start()).rejects.toThrow("a bridge can be started only once");
  await started;
});

test("a bridge in push mode first fetches the events that are held", async () => {
  await publishOne(create("c1", card("held")));
  const { bridge, texts } = makeBridge({ ...optionsOf(), mode: "push" });
  await bridge.start();
  await until("the held event is shown", () => texts().includes("held"));
});

test("a handler that is called before start answers with 503", async () => {
  const { bridge } = makeBridge({ ...optionsOf(), mode: "push" });
  const server = createServer(bridge.handler).listen(0, "127.0.0.1");
  await until("the server listens", () => server.listening);
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const { status } = await fetch(`http://127.0.0.1:${port}/events`, { method: "POST", body: "{}" });
  server.close();
  expect(status).toBe(503);
});

test("with onlyReported, only messages for reported channels and members are shown, even after a restart", async () => {
  const options = {
    ...optionsOf(),
    onlyReported: "all",
    store: folderStore(`${folder}/only-reported`),
  } as const;
  const first = makeBridge(options);
  await first.bridge.start();
  await publishOne(dm("u1", card("too early")));
  await publishOne(create("c1", card("too early")));
  await until("both messages are dropped", () => first.problems.length === 2);
  expect(first.problems.toSorted()).toEqual([
    expect.stringMatching(/^dm.create evt_\w+ was dropped: the bridge has never reported the member$/),
    expect.stringMatching(/^message.create evt_\w+ was dropped: the bridge has never reported the channel$/),
  ]);
  await first.bridge.command({ channel: "c1", user: "u1", text: "help" });
  await publishOne(dm("u1", card("direct")));
  await until("the message is shown", () => first.calls.length === 1);
  await first.bridge.stop();

  const second = makeBridge({ ...options, store: folderStore(`${folder}/only-reported`) });
  await second.bridge.start();
  await publishOne(dm("stranger", card("dropped")));
  await publishOne(ephemeral("c1", "stranger", card("dropped")));
  await publishOne(ephemeral("c1", "u1", card("for you")));
  await publishOne(create("c1", card("for all")));
  await until("all events are handled", () => second.calls.length + second.problems.length === 4);
  expect(second.texts().toSorted()).toEqual(["for all", "for you"]);
});

test("after an upgrade, a bridge with onlyReported shows the events that were held before, although it has saved no message", async () => {
  const path = `${folder}/upgraded`;
  const first = makeBridge({ ...optionsOf(), store: folderStore(path) });
  await first.bridge.start();
  await publishOne(dm("u1", card("shown")));
  await until("the message is shown", () => first.calls.length === 1);
  await first.bridge.stop();
  rmSync(`${path}/messages.jsonl`);
  await publishOne(dm("u2", card("held")));

  const second = makeBridge({ ...optionsOf(), onlyReported: "all", store: folderStore(path) });
  await second.bridge.start();
  await until("the event is handled", () => second.calls.length + second.problems.length > 0);
  expect(second.problems).toEqual([]);
  expect(second.texts()).toEqual(["held"]);
});

test("a bridge with onlyReported needs a store for the reported ids", () => {
  const { cursors, messages } = folderStore(folder);
  const options = { ...optionsOf(), onlyReported: "members", store: { cursors, messages } } as const;
  expect(() => makeBridge(options)).toThrow(/^onlyReported needs a store with the field `reported`/);
});

test("names and texts with half an emoji are accepted, because the half is replaced", async () => {
  const { bridge } = makeBridge(optionsOf());
  await bridge.start();
  const user = { id: "u1", name: "Ann \ud83d" };
  const channel = { id: "c1", name: `${"a".repeat(127)}😀😀` };
  const results = [
    await bridge.command({ channel, user, text: "start \udc00" }),
    await bridge.message({ channel, user, text: "\ud83d" }),
  ];
  expect(results.map(({ outcome }) => outcome)).toEqual(["accepted", "accepted"]);
  await until("both reports have arrived", () => received().length === 2);
  expect(received()[0]?.received.event).toMatchObject({
    user: { name: "Ann \ufffd" },
    channel: { name: `${"a".repeat(127)}😀` },
    kind: { value: { text: "start \ufffd" } },
  });
});

test("many concurrent reports do not cause a warning", async () => {
  const script = `
    const { createBridge, storeInMemory } = require(${JSON.stringify(resolve(KIT, "index.js"))});
    const { createSender } = require(${JSON.stringify(resolve(KIT, "sender.js"))});
    const options = ${JSON.stringify(optionsOf())};
    const chat = { post: () => "1", dm: () => "1", update: () => undefined };
    const bridge = createBridge({ ...options, chat, store: storeInMemory() });
    const sender = createSender(options);
    const user = { id: "u1" };
    const reports = Array.from({ length: 20 }, () => [
      bridge.command({ channel: "c1", user, text: "go" }),
      sender.send({ type: "command", channel: "c1", user, text: "go" }),
    ]);
    Promise.all(reports.flat()).then((all) => console.log(all.every(({ outcome }) => outcome === "accepted")));
  `;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["-e", script]);
  expect([stdout.trim(), stderr]).toEqual(["true", ""]);
});
