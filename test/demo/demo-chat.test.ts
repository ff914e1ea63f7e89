import { request } from "node:http";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { joinChat, type ChatMember } from "../harness/chat-member";
import { published } from "../harness/contents";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";
import { publish } from "../harness/service";
import { until } from "../harness/wait";

const WITHIN_MS = 30_000;
let demo: DemoChat;
let [ada, bob]: ChatMember[] = [];
beforeAll(async () => {
  demo = await startDemoChat();
  [ada, bob] = [await joinChat(demo.url, "Ada"), await joinChat(demo.url, "*Bob*")];
}, 120_000);
afterAll(async () => {
  ada?.leave();
  bob?.leave();
  await demo.close();
});
jest.setTimeout(120_000);

function both(): readonly [ChatMember, ChatMember] {
  if (ada === undefined || bob === undefined) throw new Error("nobody has joined");
  return [ada, bob];
}

// contract: ack-only
test("what a command causes arrives as events, and a live game keeps one message", async () => {
  const [ada, bob] = both();
  expect(await ada.say("/play start")).toBe(204);
  const lobby = await bob.sees("opens a game");
  expect(lobby.message).toMatchObject({ kind: "game_start", awaitsReply: false });
  expect(await bob.press(lobby, "Join")).toBe(204);
  const joined = await ada.sees("\\*Bob\\*");
  expect(joined).toMatchObject({ id: lobby.id, edits: 1, message: { id: lobby.message.id } });
  expect(await ada.say("/play stop")).toBe(204);
  expect((await bob.sees("Game stopped")).id).toBe(lobby.id);
});

test("a message.ephemeral is shown to its user alone", async () => {
  const [ada, bob] = both();
  await bob.say("/play dance");
  const whispered = await bob.sees("There is no “dance”");
  expect(whispered.onlyFor).toBe(bob.me.id);
  await bob.say("/play leaderboard");
  await ada.sees("Leaderboard");
  expect([...ada.posts.values()].filter(({ onlyFor }) => onlyFor === bob.me.id)).toEqual([]);
});

// contract: kit-dm, message-awaits-reply
test("a dm.create opens a conversation with its user, and what is typed there is the answer", async () => {
  const [ada, bob] = both();
  const dm = `dm:${ada.me.id}`;
  await ada.say("/play suggest");
  const prompt = await ada.sees("Which topic", dm);
  expect(prompt.message.awaitsReply).toBe(true);
  await ada.say("Lighthouses & *moths*", { conversation: dm });
  expect((await ada.sees("the channel is told", dm)).id).toBe(prompt.id);
  await bob.sees("Lighthouses \\& \\*moths\\*");
  expect([...bob.posts.values()].filter(({ conversation }) => conversation === dm)).toEqual([]);
});

test("what members type is reported, and its fate stands beside it", async () => {
  const [ada, bob] = both();
  await ada.say("good evening");
  await until(
    "it is sent",
    () =>
      [...bob.posts.values()].some(
        (post) => post.by === "member" && post.text === "good evening" && post.report.is === "sent",
      ),
    WITHIN_MS,
  );
});

// contract: kit-expired, kit-highest-update, kit-retry-same-id
test("what the service holds while the network is cut is caught up with: expired events are dropped, and of several updates the highest sequence is applied", async () => {
  const [ada] = both();
  const card = (text: string) => ({ kind: MessageKind.CARD, text });
  const create = (text: string, seconds?: number) => ({
    workspaceId: demo.workspace.id,
    content: { $case: "messageCreate" as const, value: { channel: "lounge", message: card(text) } },
    ...(seconds === undefined ? {} : { lifetime: { seconds } }),
  });
  expect(await ada.ask("PUT", "/link/cut", { isCut: true })).toBe(204);
  const { clients } = demo.service;
  const [kept, stale] = (await publish(clients, create("first"), create("stale", 1))).map(published);
  for (const text of ["second", "third"]) {
    const message = { ...card(text), id: kept?.messageId ?? "" };
    await publish(clients, {
      workspaceId: demo.workspace.id,
      content: { $case: "messageUpdate", value: { channel: "lounge", message } },
    });
  }
  await ada.say("into the void");
  await until("it is stale", () => Date.now() > (stale?.expiresAt?.getTime() ?? Infinity), WITHIN_MS);
  await until(
    "a request has failed",
    () => [...ada.exchanges.values()].some(({ failure }) => failure === "the network is cut"),
    WITHIN_MS,
  );
  expect([...ada.posts.values()].some(({ conversation }) => conversation === "lounge")).toBe(false);
  expect(ada.link()).toMatchObject({ isCut: true, mode: "poll" });

  await ada.ask("PUT", "/link/cut", { isCut: false });
  expect(await ada.sees("third", "lounge")).toMatchObject({ edits: 1 });
  const texts = [...ada.posts.values()].flatMap((post) =>
    post.by === "service" && post.conversation === "lounge" ? [post.message.text] : [],
  );
  expect(texts).toEqual(["third"]);
  await until(
    "what was said goes through at last, under the same id",
    () =>
      [...ada.posts.values()].some(
        (post) => post.by === "member" && post.text === "into the void" && post.report.is === "sent",
      ),
    WITHIN_MS,
  );
});

test("the wire shows requests and answers both ways, and no secret or usable signature", async () => {
  const [ada] = both();
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

test("a chat full of the longest posts welcomes whoever comes, with the newest of them", async () => {
  const [ada] = both();
  // Nobody has to hear of them.
  await ada.ask("PUT", "/link/cut", { isCut: true });
  const longest = (i: number): string => `${i} ${"😀".repeat(3_990)}`;
  for (let i = 1; i <= 300; i++) expect(await ada.say(longest(i), { conversation: "lounge" })).toBe(204);
  const cleo = await joinChat(demo.url, "Cleo");
  const texts = [...cleo.posts.values()].flatMap((post) =>
    post.by === "member" && post.conversation === "lounge" ? [post.text] : [],
  );
  expect(texts).toEqual(Array.from({ length: texts.length }, (_, i) => longest(301 - texts.length + i)));
  expect(texts.length).toBeGreaterThan(50);
  await ada.ask("PUT", "/link/cut", { isCut: false });
  await ada.say("short again");
  await until(
    "she sees what is said next",
    () => [...cleo.posts.values()].some((post) => post.by === "member" && post.text === "short again"),
    WITHIN_MS,
  );
  cleo.leave();
});

describe("the chat does what its own page asks for, and nothing else", () => {
  test.each([
    ["a button that the message does not have", "/press", { post: 1, action: "nothing" }, 409],
    ["a conversation of somebody else", "/say", { conversation: "dm:u-someone", text: "hi" }, 404],
    ["an unknown channel", "/say", { conversation: "cellar", text: "hi" }, 404],
    ["nothing to say", "/say", { conversation: "general", text: " " }, 400],
    ["a text that is too long", "/say", { conversation: "general", text: "x".repeat(4001) }, 400],
    ["a field that there is none of", "/say", { conversation: "general", text: "x", as: "Bob" }, 400],
  ])("%s is refused", async (_what, path, body, status) => {
    const [ada] = both();
    expect(await ada.ask("POST", path, body)).toBe(status);
  });

  /** Asks with headers that fetch would not send. */
  function statusOf(headers: Record<string, string>, path = "/", method = "GET"): Promise<number> {
    return new Promise((resolve, reject) => {
      request(`${demo.url}${path}`, { method, headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      })
        .on("error", reject)
        .end();
    });
  }

  test.each([
    ["by its address", {}, 200],
    ["as localhost", { host: "localhost:1" }, 200],
    ["by a name that is listed", { host: "Chat.test" }, 200],
    ["by a name of somebody else's", { host: "rebound.example" }, 403],
  ])("opened %s", async (_how, headers, status) => {
    expect(await statusOf(headers)).toBe(status);
  });

  test("asked by another site's page", async () => {
    expect(await statusOf({ "sec-fetch-site": "cross-site" }, "/api/join", "POST")).toBe(403);
  });

  test("asked without a key, or with one that is not known", async () => {
    expect(await statusOf({}, "/api/stream")).toBe(401);
    expect(await statusOf({ authorization: "Bearer nobody" }, "/api/stream")).toBe(401);
  });
});
