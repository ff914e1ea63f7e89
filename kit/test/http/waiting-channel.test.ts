import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { create, dm, ephemeral, published, update, type ContentInit } from "../../../test/harness/contents";
import { testFolder } from "../../../test/harness/folder";
import { startProgram } from "../../../test/harness/program";
import { publish, type TestWorkspace } from "../../../test/harness/service";
import { sharedService } from "../../../test/harness/shared-service";
import { until } from "../../../test/harness/wait";
import { makeBridge, recordingChat, stopBridges } from "../harness/bridge-chat";

const service = sharedService();
const folder = testFolder();
const PROGRAM = join(__dirname, "../harness/killed-bridge.mjs");
let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await service.workspaces.make();
});
afterEach(stopBridges);

const text = (words: string) => ({ kind: MessageKind.CARD, text: words });

/** Publishes an event, and returns the id of its message. */
async function publishOne(content: ContentInit): Promise<string> {
  const [result] = await publish(service.clients, { workspaceId: workspace.id, content });
  return published(result).messageId;
}

/** Publishes creates with the texts `<channel> 1`, `<channel> 2`, …, in order. */
async function publishMany(channel: string, count: number): Promise<readonly string[]> {
  const texts = Array.from({ length: count }, (_, i) => `${channel} ${i + 1}`);
  for (let i = 0; i < count; i += 50) {
    const events = texts.slice(i, i + 50).map((each) => create(channel, text(each)));
    await publish(service.clients, ...events.map((content) => ({ workspaceId: workspace.id, content })));
  }
  return texts;
}

/** Returns a program that runs a bridge, with the same state folder and chat for each run. */
function setUp() {
  const state = mkdtempSync(join(folder, "state-"));
  const [chat, cursor] = [join(state, "chat.txt"), join(state, "cursor")];
  const messages = join(state, "messages.jsonl");
  return {
    async start(environment: Record<string, string> = {}) {
      const settings = {
        BASE_URL: service.url,
        WORKSPACE_ID: workspace.id,
        SIGNING_SECRET: workspace.secret,
      };
      const program = startProgram([process.execPath, PROGRAM], {
        cwd: folder,
        environment: { ...settings, STATE_FOLDER: state, CHAT: chat, ...environment },
      });
      await until("the bridge polls", () => program.output().includes("connected"));
      return program;
    },
    /** The texts that the chat has shown, in order. */
    shown: (): readonly string[] =>
      existsSync(chat)
        ? readFileSync(chat, "utf8")
            .split("\n")
            .filter((line) => line !== "" && !line.includes(" waits "))
            .map((line) => line.split(" ").slice(2).join(" "))
        : [],
    /** Returns whether the bridge has recorded that it showed a text. */
    isRecorded: (words: string) => existsSync(messages) && readFileSync(messages, "utf8").includes(words),
    cursor: () => (existsSync(cursor) ? readFileSync(cursor, "utf8") : undefined),
  };
}

// contract: kit-refused-create, kit-dedupe
test("while one channel's messages fill more than a page, messages of other channels are shown, and a killed bridge loses and repeats nothing", async () => {
  const { start, shown, isRecorded, cursor } = setUp();
  const waiting = await publishMany("c1", 130);
  const id = await publishOne(create("c2", text("c2 first")));
  await publishOne(update("c2", { id, ...text("c2 updated") }));
  await publishOne(ephemeral("c2", "u1", text("for you")));
  await publishOne(dm("u1", text("direct")));
  const others = ["c2 first", "c2 updated", "for you", "direct"];

  const killed = await start({ CHAT_REFUSES: "c1" });
  await until("the other channels are shown", () => others.every(isRecorded));
  expect(cursor()).toBeUndefined();
  await killed.stop("SIGKILL");

  const next = await start({ CHAT_REFUSES: "c1" });
  await publishOne(create("c2", text("c2 last")));
  await until("a new message is shown", () => isRecorded("c2 last"));
  expect(shown().toSorted()).toEqual([...others, "c2 last"].toSorted());
  expect(cursor()).toBeUndefined();
  await next.stop("SIGKILL");

  const last = await start();
  await until("the channel's messages are shown", () => shown().includes(waiting.at(-1) ?? ""));
  await until("the cursor is saved", () => cursor() !== undefined);
  expect(await last.stop()).toBe(0);
  expect(shown().filter((each) => each.startsWith("c1"))).toEqual(waiting);
  expect(shown()).toHaveLength(waiting.length + others.length + 1);
});

// time: ordering
test("events of other channels are shown while a call for one channel is in progress, and a channel's 300 waiting messages leave room for others", async () => {
  const { chat, texts } = recordingChat();
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const { bridge } = makeBridge({
    baseUrl: service.url,
    workspaceId: workspace.id,
    secrets: workspace.secret,
    chat: {
      ...chat,
      async post(event, signal) {
        if (event.channel === "c1") await opened;
        return chat.post(event, signal);
      },
    },
  });
  await bridge.start();
  const waiting = await publishMany("c1", 300);
  await publishOne(create("c2", text("c2 first")));
  await until("the other channel is shown", () => texts().includes("c2 first"));
  await publishOne(create("c2", text("c2 second")));
  await until("a later message is shown", () => texts().includes("c2 second"));
  expect(texts()).toEqual(["c2 first", "c2 second"]);
  open();
  await until("all messages are shown", () => texts().length === waiting.length + 2);
  expect(texts().filter((each) => each.startsWith("c1"))).toEqual(waiting);
});

test("the status of a bridge lists the channels whose messages wait, with the chat's reason", async () => {
  const { chat, texts } = recordingChat();
  let isRefusing = true;
  const { bridge } = makeBridge({
    baseUrl: service.url,
    workspaceId: workspace.id,
    secrets: workspace.secret,
    chat: {
      ...chat,
      post: async (event, signal) => {
        if (isRefusing && event.channel === "c1") throw new Error("you may not speak here");
        return chat.post(event, signal);
      },
    },
  });
  await bridge.start();
  expect(bridge.status.waiting).toEqual([]);
  await publishMany("c1", 2);
  await publishOne(create("c2", text("c2 first")));
  await until("the other channel is shown", () => texts().includes("c2 first"));
  await until("the channel waits", () => bridge.status.waiting.length > 0);
  const since = expect.any(Date) as Date;
  const problem = "you may not speak here";
  expect(bridge.status.waiting).toEqual([{ channel: "c1", messages: 2, since, problem }]);
  isRefusing = false;
  await until("all messages are shown", () => texts().length === 3);
  expect(bridge.status.waiting).toEqual([]);
});
