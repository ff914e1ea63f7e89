import { get } from "node:https";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { poll, signatureOf } from "../harness/bridge";
import { joinChat, type ChatMember } from "../harness/chat-member";
import { create, ephemeral, published, update } from "../harness/contents";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";
import { publish } from "../harness/service";
import { until } from "../harness/wait";

const CUT = { how: "cut", lastCommand: null };
let demo: DemoChat;
let ada: ChatMember;
let bob: ChatMember;
beforeAll(async () => {
  demo = await startDemoChat();
  [ada, bob] = await Promise.all([joinChat(demo.url, "Ada"), joinChat(demo.url, "*Bob*")]);
});
afterAll(async () => {
  ada.leave();
  bob.leave();
  await demo.close();
});

const workspaceId = () => demo.workspace.id;
const targetUrl = async () => (await demo.service.workspaces.get(workspaceId())).workspace?.targetUrl ?? "";
const card = (text: string) => ({ kind: MessageKind.CARD, text });

/** Publishes a card, and returns the id of its message. */
async function post(text: string): Promise<string> {
  const [event] = await publish(demo.service.clients, {
    workspaceId: workspaceId(),
    content: create("general", card(text)),
  });
  return published(event).messageId ?? "";
}

const exchanges = (what: string) => [...ada.exchanges.values()].filter((each) => each.what === what);
/** Returns the texts of the service's messages in a conversation. */
const shownIn = (where: string) =>
  [...ada.posts.values()].flatMap((each) =>
    each.by === "service" && each.conversation === where ? [each.message.text] : [],
  );

// time: ordering
// contract: kit-expired, kit-highest-update
test("after a network cut, the bridge drops expired events, and applies only the latest of several updates", async () => {
  const lounge = (text: string, seconds?: number) => ({
    workspaceId: workspaceId(),
    content: create("lounge", card(text)),
    ...(seconds === undefined ? {} : { lifetime: { seconds } }),
  });
  expect(await ada.ask("PUT", "/link/break", CUT)).toBe(204);
  const { clients } = demo.service;
  const [kept, stale] = (await publish(clients, lounge("first"), lounge("stale", 1))).map(published);
  for (const text of ["second", "third"]) {
    const message = { ...card(text), id: kept?.messageId ?? "" };
    await publish(clients, { workspaceId: workspaceId(), content: update("lounge", message) });
  }
  await ada.say("into the void");
  await until("the stale event has expired", () => Date.now() > (stale?.expiresAt?.getTime() ?? Infinity));
  const isCut = () => exchanges("report").some(({ failure }) => failure === "the network is cut");
  await until("a request has failed", isCut);
  expect(shownIn("lounge")).toEqual([]);
  expect(ada.link()).toMatchObject({ broken: { how: "cut", by: "Ada" }, mode: "poll" });

  await ada.ask("DELETE", "/link/break");
  expect(await ada.sees("third", "lounge")).toMatchObject({ edits: 1 });
  expect(shownIn("lounge")).toEqual(["third"]);
});

test("polling continues after the network is cut and restored in quick succession", async () => {
  const isDone = ada.ask("PUT", "/link/break", CUT);
  await until("the network is cut", () => ada.link().broken !== null);
  expect(await ada.ask("DELETE", "/link/break")).toBe(204);
  expect(await isDone).toBe(204);
  await post("after a short cut");
  await ada.sees("after a short cut");
});

test("a private message whose data names a message becomes a note on that message; other private messages become posts; only the recipient sees either", async () => {
  const messageId = await post("the card");
  const shown = await ada.sees("the card");
  const whisper = (text: string, data?: object) =>
    publish(demo.service.clients, {
      workspaceId: workspaceId(),
      content: ephemeral("general", ada.me.id, { ...card(text), ...(data && { data }) }),
    });
  await whisper("noted", { about: messageId, answer: 1 });
  const note = await until("Ada has the note", () => ada.notes.get(shown.id));
  expect(note).toMatchObject({ to: ada.me.id, message: { text: "noted", data: { answer: 1 } } });
  await whisper("about nothing", { about: "msg_unknown" });
  await whisper("plain");
  expect(await ada.sees("about nothing")).toMatchObject({ onlyFor: ada.me.id });
  expect(await ada.sees("plain")).toMatchObject({ onlyFor: ada.me.id });
  expect(shownIn("general")).not.toContain("noted");
  await post("for all");
  await bob.sees("for all");
  expect([...bob.notes]).toEqual([]);
  // A page that is opened later gets the note too.
  const again = await joinChat(demo.url, "Ada", ada.key);
  expect(again.notes.get(shown.id)).toEqual(note);
  again.leave();
});

test("the service gets a typed answer as a reply to its message, and the chat does not show it as a post; other messages cannot be answered", async () => {
  const [asked] = await publish(demo.service.clients, {
    workspaceId: workspaceId(),
    content: create("lounge", { ...card("How many?"), awaitsReply: true }),
  });
  const { id } = await ada.sees("How many?", "lounge");
  const before = ada.posts.size;
  expect(await ada.ask("POST", "/answer", { post: id, text: " 42 " })).toBe(204);
  const { messageId } = published(asked);
  const reported = () =>
    exchanges("report").some(({ request }) => request.body.includes(`"replyTo":"${messageId}"`));
  await until("the answer is on the wire", reported);
  expect(ada.posts.size).toBe(before);
  const { id: card1 } = await ada.sees("the card");
  expect(await ada.ask("POST", "/answer", { post: card1, text: "42" })).toBe(409);
  expect(await ada.ask("POST", "/answer", { post: id, text: " " })).toBe(400);
});

// contract: workspace-modes, poll-403
test("the last poll before a target URL is set fetches held events; then events are pushed, and polls are answered with 403", async () => {
  await post("held before");
  expect(await ada.ask("PUT", "/link/mode", { mode: "push" })).toBe(204);
  await ada.sees("held before");
  expect(exchanges("push")).toEqual([]);
  await until("the page shows the mode", () => ada.link().mode === "push" && !ada.link().isSwitching);
  expect([ada.link().problem, await targetUrl()]).toEqual([null, demo.targetUrl]);

  const before = exchanges("poll").length;
  await post("pushed");
  await ada.sees("pushed");
  const onTheWire = await until("the push is among the exchanges", () => exchanges("push").at(-1));
  expect(onTheWire).toMatchObject({ path: "/pushes", answer: { status: 204 } });
  expect((await poll(demo.service.url, demo.workspace)).status).toBe(403);
  expect(exchanges("poll")).toHaveLength(before);
});

test("by default, the listener for pushes does not serve `/observe`", async () => {
  const headers = { "service-signature": signatureOf(demo.workspace.secret, "") };
  const options = { headers, rejectUnauthorized: false, agent: false };
  const answered = new Promise((resolve) => {
    get(new URL("/observe", demo.targetUrl), options, (answer) => resolve(answer.resume().statusCode));
  });
  expect(await answered).toBe(404);
});

// contract: retry-create, retry-never, push-missed
test("during a network cut, the mode cannot change; failed pushes of new messages are retried, but failed pushes of answer updates are not", async () => {
  const messageId = await post("before the cut");
  const shown = await ada.sees("before the cut");
  await ada.ask("PUT", "/link/break", CUT);
  expect(await ada.ask("PUT", "/link/mode", { mode: "poll" })).toBe(409);
  const unseen = { id: messageId, kind: MessageKind.ANSWER_UPDATE, text: "a tally that nobody saw" };
  await publish(demo.service.clients, { workspaceId: workspaceId(), content: update("general", unseen) });
  await post("retried");
  await until("the first attempts have failed", async () => {
    const { health } = await demo.service.workspaces.get(workspaceId());
    return health?.mode?.$case === "push" && health.mode.value.attempts - health.mode.value.successes >= 2;
  });
  await ada.ask("DELETE", "/link/break");
  await ada.sees("retried");
  expect(ada.link()).toMatchObject({ broken: null, mode: "push" });
  expect(ada.posts.get(shown.id)).toMatchObject({ edits: 0, message: { text: "before the cut" } });
});

// contract: mode-to-poll
test("once the target URL is cleared, events are held, and polling continues where it stopped", async () => {
  expect(await ada.ask("PUT", "/link/mode", { mode: "poll" })).toBe(204);
  expect(await targetUrl()).toBe("");
  await post("polled again");
  await ada.sees("polled again");
  const all = ["held before", "pushed", "before the cut", "retried", "polled again"];
  expect(shownIn("general").slice(-all.length)).toEqual(all);
});

test("the chat lists requests and answers in both directions, without secrets or usable signatures", async () => {
  const shown = [...ada.exchanges.values()];
  expect(shown.map(({ what }) => what)).toEqual(expect.arrayContaining(["report", "poll"]));
  const text = JSON.stringify(shown);
  expect(text).toMatch(/"service-signature","t=\d+,v1=[0-9a-f]{8}…"/);
  expect(text).not.toContain(demo.workspace.secret);
  expect(text).not.toMatch(/v1=[0-9a-f]{9}/);
  expect(text).not.toContain(ada.key);
  const ids = shown.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)]);
});

test("a chat clears its target URL when it stops; if it was killed, the next chat clears the URL", async () => {
  await ada.ask("PUT", "/link/mode", { mode: "push" });
  expect(await demo.chat.stop()).toBe(0);
  expect(await targetUrl()).toBe("");

  const next = await demo.startAgain();
  const bob = await joinChat(`http://127.0.0.1:${next.port}`, "Bob");
  await bob.ask("PUT", "/link/mode", { mode: "push" });
  bob.leave();
  await next.stop("SIGKILL");
  expect(await targetUrl()).toBe(demo.targetUrl);
  const last = await demo.startAgain();
  expect(await targetUrl()).toBe("");

  expect(await last.stop()).toBe(0);
});

test("the chat keeps the target URL of another bridge, and shows that polls are answered with 403", async () => {
  // No further event is published, so no push is sent to this URL.
  await demo.service.workspaces.setTargetUrl(workspaceId(), "https://8.8.8.8/events");
  const chat = await demo.startAgain();
  const cyd = await joinChat(`http://127.0.0.1:${chat.port}`, "Cyd");
  await until("the chat has polled", () => cyd.link().problem?.includes("403"));
  expect(await targetUrl()).toBe("https://8.8.8.8/events");
  cyd.leave();
});
