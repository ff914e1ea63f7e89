import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { createGame } from "../../kit/game/index";
import { startGame } from "../../kit/game/start";
import { CARD, create, published } from "../harness/contents";
import { playDice, startFakeCore, WORKSPACE, type FakeCore } from "../harness/fake-core";

const running: FakeCore[] = [];
afterEach(async () => {
  for (const core of running.splice(0)) await core.stop();
});

async function start(...args: readonly string[]): Promise<FakeCore> {
  const core = await startFakeCore(...args);
  running.push(core);
  return core;
}

/** Starts a fake core with the game of `playDice`. */
async function startPlayed(...args: readonly string[]): Promise<FakeCore> {
  const core = await start(...args);
  await playDice(core);
  return core;
}

const act = (core: FakeCore, member: string, how: string, body: unknown) =>
  core.control("POST", `/members/${member}/${how}`, body);
/** Waits until the chat shows a message that contains `text`, at a position after `after`. */
const shown = (core: FakeCore, text: string, after: unknown = 0) =>
  core.control(
    "GET",
    `/messages?${new URLSearchParams({ contains: text, after: String(after), wait: "30" }).toString()}`,
  );
/** Sends a request with a `Host` header. */
async function statusFor(core: FakeCore, headers: Record<string, string>): Promise<number | undefined> {
  const sent = request(`${core.url}/messages`, { headers }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

test("a test can act as members over HTTP, and can wait for what the chat shows", async () => {
  const core = await startPlayed();
  const typed = await act(core, "ada", "types", { text: "/play dice" });
  expect(typed).toEqual({ status: 200, json: { position: 0 } });
  expect((await shown(core, "throws a 4")).json).toMatchObject({
    position: 1,
    messages: [
      { workspace: WORKSPACE, place: "room", to: null, kind: "card", text: "**Ada** throws a 4", updates: 0 },
    ],
  });
  const pressed = await act(core, "bo", "presses", { label: "Again" });
  expect((await shown(core, "throws", pressed.json["position"])).json).toMatchObject({
    position: 2,
    messages: [{ text: "throws a 5", updates: 1, position: 2 }],
  });
  await act(core, "ada", "types", { text: "/ask", channel: "lobby" });
  await shown(core, "which number?");
  await act(core, "ada", "replies", { text: "42", channel: "lobby" });
  expect((await shown(core, "heard 42")).json).toMatchObject({ messages: [{ place: "lobby" }] });
  await act(core, "ada", "dms", { text: "hello", name: "Ada L." });
  expect((await shown(core, "you said")).json).toMatchObject({ messages: [{ place: "dm:ada" }] });
  const ofBo = await core.control("GET", "/messages?member=bo&place=dm:ada");
  expect(ofBo.json["messages"]).toEqual([]);
});

test("a member can press the button of an older message, or send a forged action", async () => {
  const core = await start();
  const game = await core.follow().opened();
  game.ackAll();
  const rows = [{ buttons: [{ label: "Again", press: { $case: "action" as const, value: "dice:again" } }] }];
  const show = (text: string) => core.show(create("room", { ...CARD, text, rows }));
  const older = published(await show("older")).messageId;
  await show("newer");
  const pressed = await act(core, "ada", "presses", { label: "Again", messageId: older });
  expect(pressed.status).toBe(200);
  await act(core, "ada", "presses", { action: "dice:cheat", messageId: older });
  await act(core, "ada", "presses", { action: "dice:again", messageId: "msg_none", channel: "lobby" });
  const seen = await game.sees(3);
  const action = (messageId: string, value: string) => ({
    kind: { $case: "action", value: { messageId, action: value } },
  });
  expect(seen.map(({ received }) => received?.event)).toMatchObject([
    { channel: { id: "room" }, ...action(older, "dice:again") },
    { channel: { id: "room" }, ...action(older, "dice:cheat") },
    { channel: { id: "lobby" }, ...action("msg_none", "dice:again") },
  ]);
  game.cancel();
});

// time: ordering
test("if a wait ends without a result, the error says what the chat shows", async () => {
  const core = await startPlayed();
  await act(core, "ada", "types", { text: "/play dice" });
  await shown(core, "throws");
  const { status, json } = await core.control("GET", "/messages?contains=wins&wait=0.01");
  expect(status).toBe(404);
  expect(json["error"]).toContain("room: **Ada** throws a 4   [Again]");
});

test("`POST /reset` keeps the streams, and forgets messages and keys", async () => {
  const core = await startPlayed();
  await act(core, "ada", "types", { text: "/play dice" });
  const before = (await shown(core, "throws")).json["messages"] as { id: string }[];
  await core.control("POST", "/reset");
  expect((await core.control("GET", "/messages")).json["messages"]).toEqual([]);
  await act(core, "ada", "types", { text: "/play dice" });
  const after = (await shown(core, "throws")).json["messages"] as { id: string }[];
  expect(after).toHaveLength(1);
  expect(after[0]?.id).not.toBe(before[0]?.id);
});

test("workspaces are added and removed", async () => {
  const core = await startPlayed();
  const { json } = await core.control("POST", "/workspaces");
  const workspace = String(json["id"]);
  await act(core, "ada", "types", { text: "/play dice", workspace });
  expect((await shown(core, "throws")).json).toMatchObject({ messages: [{ workspace }] });
  expect((await core.control("DELETE", `/workspaces/${workspace}`)).status).toBe(200);
  const gone = await act(core, "ada", "types", { text: "/play dice", workspace });
  expect(gone).toMatchObject({ status: 404, json: { error: expect.stringContaining(WORKSPACE) as string } });
});

describe("errors:", () => {
  test("before a game follows, an event is rejected, because no game would get it", async () => {
    const core = await start();
    expect(await act(core, "ada", "types", { text: "hi" })).toMatchObject({
      status: 409,
      json: { error: expect.stringContaining("GET /ready?wait=30") as string },
    });
    expect((await core.control("GET", "/ready?wait=0.01")).status).toBe(503);
  });

  test.each([
    ["a body that is not JSON", "POST", "/members/ada/types", "{", 400, "the body is not JSON"],
    ["a missing field", "POST", "/members/ada/types", {}, 400, "must have required property 'text'"],
    [
      "an unknown field",
      "POST",
      "/members/ada/types",
      { text: "a", to: "b" },
      400,
      "must NOT have additional properties",
    ],
    ["an empty text", "POST", "/members/ada/types", { text: "" }, 400, "text has 0 characters"],
    ["a command in a DM", "POST", "/members/ada/dms", { text: "/dice" }, 400, "type it in a channel"],
    ["a press of nothing", "POST", "/members/ada/presses", { messageId: "m" }, 400, 'give "label"'],
    [
      "an older button that nobody sees",
      "POST",
      "/members/ada/presses",
      { label: "Go", messageId: "msg_none" },
      409,
      "use the id of a message in GET /messages",
    ],
    ["a button that nobody sees", "POST", "/members/ada/presses", { label: "Go" }, 409, "but no buttons"],
    [
      "an unknown parameter",
      "GET",
      "/messages?text=a",
      undefined,
      400,
      "must NOT have additional properties",
    ],
    ["a wait of more than a minute", "GET", "/messages?wait=61", undefined, 400, "at most 60 seconds"],
    ["an invalid duration", "POST", "/time", { advance: "soon" }, 400, "a duration is"],
    ["a negative duration", "POST", "/time", { advance: -1 }, 400, "a duration is"],
    ["a window of 0", "POST", "/window", { window: 0 }, 400, "must be >= 1"],
    ["a workspace id that is not a UUID", "POST", "/workspaces", { id: "w1" }, 400, "is not a UUID"],
    ["a large body", "POST", "/members/ada/types", { text: "a".repeat(70_000) }, 413, "too large"],
    ["an unknown call", "GET", "/message", undefined, 404, "use one of POST /members/:member/types"],
  ])("%s is answered with a clear error", async (_, method, path, body, status, text) => {
    const core = await startPlayed();
    const answer = await core.control(method, path, body);
    expect(answer).toMatchObject({ status, json: { error: expect.stringContaining(text) as string } });
  });

  test("pages of other sites cannot use the control API", async () => {
    const core = await start("--http-host", "fake-core");
    const port = new URL(core.url).port;
    expect(await statusFor(core, { host: `evil.example:${port}` })).toBe(403);
    expect(await statusFor(core, { origin: "http://evil.example" })).toBe(403);
    expect(await statusFor(core, { origin: "null" })).toBe(403);
    expect(await statusFor(core, { "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await statusFor(core, { host: `localhost:${port}` })).toBe(200);
    expect(await statusFor(core, { host: `fake-core:${port}` })).toBe(200);
  });

  test("the fake core stops even if connections are open and calls are waiting", async () => {
    const core = await start();
    const { hostname, port } = new URL(core.url);
    const silent = connect(Number(port), hostname);
    await once(silent, "connect");
    const waiting = core.control("GET", "/ready?wait=60").catch(() => "ended");
    await core.control("GET", "/time");
    expect(await core.stop()).toBe(0);
    await waiting;
    silent.destroy();
  });
});

test("a game of the game kit plays on a fake core, survives a lost stream, and breaks no rule", async () => {
  const core = await start();
  const dice = createGame({ name: "dice", state: () => ({ throws: 0 }) });
  const card = (throws: number) => ({ text: `throw ${throws}`, buttons: [[again("Again")]] });
  const again = dice.action("again", (turn) => {
    turn.update(card(++turn.state.throws));
  });
  dice.command("roll", "throws a die", (turn) => turn.reply(card(++turn.state.throws)));
  const game = await startGame(dice, {
    isProgram: false,
    environment: { CORE_ADDRESS: core.grpc, CORE_TOKEN: "any" },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
  expect((await core.control("GET", "/ready?wait=30")).status).toBe(200);
  await act(core, "ada", "types", { text: "/play dice roll" });
  await shown(core, "throw 1");
  await core.control("POST", "/streams/lose");
  const pressed = await act(core, "ada", "presses", { label: "Again" });
  await shown(core, "throw 2", pressed.json["position"]);
  await core.control("POST", "/redeliver");
  expect((await core.control("GET", "/settled?wait=30")).status).toBe(200);
  expect((await core.control("GET", "/messages")).json).toMatchObject({ messages: [{ text: "throw 2" }] });
  expect((await core.control("GET", "/report")).json).toMatchObject({ broken: 0 });
  await game.stop();
});
