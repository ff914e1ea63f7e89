import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { send, type SendOptions } from "../harness/bridge";
import { joinChat, type ChatMember } from "../harness/chat-member";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";

let demo: DemoChat;
let ada: ChatMember;
beforeAll(async () => {
  demo = await startDemoChat();
  ada = await joinChat(demo.url, "Ada");
});
afterAll(async () => {
  ada.leave();
  await demo.close();
});

const statusOf = async (path: string, options: SendOptions) => (await send(demo.url, path, options)).status;

test.each([
  ["a press of a button that the message does not have", "/press", { post: 1, action: "nothing" }, 409],
  [
    "a post in another member's direct conversation",
    "/say",
    { conversation: "dm:u-someone", text: "hi" },
    404,
  ],
  ["a post with a blank text", "/say", { conversation: "general", text: " " }, 400],
  ["a post with a text that is too long", "/say", { conversation: "general", text: "x".repeat(4001) }, 400],
  ["a post with an unknown field", "/say", { conversation: "general", text: "x", as: "Bob" }, 400],
])("%s is rejected", async (_what, path, body, status) => {
  expect(await ada.ask("POST", path, body)).toBe(status);
});

test.each([
  ["by address", {}, 200],
  ["as localhost", { host: "localhost:1" }, 200],
  ["by a listed name", { host: "Chat.test" }, 200],
  ["by an unlisted name", { host: "rebound.example" }, 403],
])("the page is served only under its own host names: %s", async (_how, headers, status) => {
  expect(await statusOf("/", { headers })).toBe(status);
});

test("a name without visible characters is rejected", async () => {
  for (const name of ["", " \u00a0", "\u200b", "\u3164", "\u202e"]) {
    const headers = { "content-type": "application/json" };
    const options = { method: "POST", headers, body: JSON.stringify({ name }) };
    expect([name, await statusOf("/api/join", options)]).toEqual([name, 400]);
  }
});

test.each(["/chat.js", "/chat.css"])(
  "%s is sent with the compression that the browser accepts",
  async (path) => {
    const plain = await send(demo.url, path);
    expect(plain.headers["content-encoding"]).toBeUndefined();
    for (const [encoding, decode] of [["gzip", gunzipSync] as const, ["br", brotliDecompressSync] as const]) {
      const { headers, body } = await send(demo.url, path, { headers: { "accept-encoding": encoding } });
      expect([headers["content-encoding"], headers["content-type"]]).toEqual([
        encoding,
        plain.headers["content-type"],
      ]);
      expect(decode(body).equals(plain.body)).toBe(true);
    }
  },
);

test("requests from another site's page, or without a valid key, are rejected", async () => {
  const headers = { "sec-fetch-site": "cross-site" };
  expect(await statusOf("/api/join", { method: "POST", headers })).toBe(403);
  expect(await statusOf("/api/stream", {})).toBe(401);
  expect(await statusOf("/api/stream?key=nobody", {})).toBe(401);
  expect(await statusOf("/api/stream", { headers: { authorization: "Bearer nobody" } })).toBe(401);
});
