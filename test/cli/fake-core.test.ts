import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { status } from "@grpc/grpc-js";
import { EXIT } from "../../cli/exit-code";
import { PublishRefusal } from "../../proto/gen/chatbridge/v1/game";
import { runCli, startCliProcess } from "../harness/cli";
import { CARD, create, published, update } from "../harness/contents";
import { eventOf, nackOf, playDice, startFakeCore, WORKSPACE, type FakeCore } from "../harness/fake-core";
import { testFolder } from "../harness/folder";
import { until } from "../harness/wait";

const folder = testFolder();
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

const CARD_OF = (text: string) => create("room", { ...CARD, text });
const findings = async (core: FakeCore) =>
  (await core.control("GET", "/report")).json["findings"] as { code: string; count: number }[];
const codes = async (core: FakeCore) => (await findings(core)).map(({ code }) => code);
const refusal = (reason: PublishRefusal, field: string) => ({
  outcome: { $case: "refused", value: { reason, field } },
});

describe("gRPC:", () => {
  test("a game gets the events of members in order, and the chat shows the messages of the game", async () => {
    const core = await start();
    const game = await core.follow().opened();
    expect([game.shards, game.streamId]).toEqual([16, expect.stringMatching(/./)]);
    core.type("ada: /play dice");
    core.type("ada: hello");
    const [first, second] = await game.sees(2);
    expect([first?.text, second?.text]).toEqual(["dice", "hello"]);
    expect(first?.received).toMatchObject({
      workspaceId: WORKSPACE,
      event: { channel: { id: "room" }, user: { id: "ada", name: "Ada" }, kind: { $case: "command" } },
    });
    const result = published(await core.show(CARD_OF("throws a 4"), { idempotencyKey: "k1" }));
    expect(result).toMatchObject({ sequence: 1, repeated: false });
    const again = published(await core.show(CARD_OF("throws a 4"), { idempotencyKey: "k1" }));
    expect(again).toMatchObject({ messageId: result.messageId, repeated: true });
    const { json } = await core.control("GET", "/messages");
    expect(json).toMatchObject({
      position: 1,
      messages: [{ text: "throws a 4", place: "room", updates: 0 }],
    });
    game.cancel();
  });

  test("core's rules apply to each event, and the report contains each refusal", async () => {
    const core = await start();
    const fence = { streamId: "nobody", deliveryId: "", attempt: 0 };
    const results = await core.publish([
      eventOf(CARD_OF(" ")),
      eventOf(CARD_OF("hi"), { workspaceId: "00000000-0000-4000-8000-0000000000ff" }),
      eventOf(CARD_OF("hi"), { fence }),
    ]);
    expect(results).toMatchObject([
      refusal(PublishRefusal.INVALID, "message_create.message.text"),
      refusal(PublishRefusal.UNKNOWN_WORKSPACE, "workspace_id"),
      { outcome: { $case: "refused", value: { field: expect.stringContaining("fence") as string } } },
    ]);
    expect(await codes(core)).toEqual(expect.arrayContaining(["invalid-event", "unknown-workspace"]));
    await expect(core.publish([])).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: "events must have 1 to 100 entries, not 0",
    });
  });

  test("an invalid `open` message ends the stream with core's error; a consumer's new stream replaces its old stream", async () => {
    const core = await start();
    expect(await core.follow({ window: 0 }).ended()).toEqual({
      code: status.INVALID_ARGUMENT,
      details: "open.window must be 1 to 1000",
    });
    const old = await core.follow().opened();
    const newer = await core.follow().opened();
    expect(await old.ended()).toMatchObject({ code: status.ABORTED });
    old.cancel();
    newer.cancel();
  });

  test("any token is valid, but a missing token is not; with --token-file, only the token in that file is valid", async () => {
    const file = join(folder, "token");
    writeFileSync(file, '{"tokens":{"game":"the-token-of-the-game"}}');
    const [open, strict] = [await start(), await start("--token-file", file)];
    const event = [eventOf(CARD_OF("hi"))];
    expect(await open.publish(event, "whatever")).toHaveLength(1);
    expect(await strict.publish(event, "the-token-of-the-game")).toHaveLength(1);
    const unauthenticated = { code: status.UNAUTHENTICATED };
    await expect(open.publish(event, "")).rejects.toMatchObject(unauthenticated);
    await expect(strict.publish(event, "whatever")).rejects.toMatchObject(unauthenticated);
    expect(await open.follow({}, "").ended()).toMatchObject(unauthenticated);
  });

  test("a nack redelivers the event, and an ack ends its redelivery", async () => {
    const core = await start();
    const game = await core.follow().opened();
    core.type("ada: hello");
    const [first] = await game.sees(1);
    game.say(nackOf([first?.id ?? ""]));
    const [, second] = await game.sees(2);
    expect([second?.id, second?.attempt]).toEqual([first?.id, 2]);
    expect((await core.control("GET", "/settled")).status).toBe(503);
    game.ack({ id: first?.id ?? "" });
    expect((await core.control("GET", "/settled?wait=30")).status).toBe(200);
    game.cancel();
  });
});

describe("stdin:", () => {
  test("members act through lines on stdin, and the fake core prints the chat's messages and edits", async () => {
    const core = await startPlayed();
    core.type("ada: /play dice");
    await core.says("room: **Ada** throws a 4   [Again]");
    core.type("bo presses Again");
    await core.says("room (edited): throws a 5   [Again]");
    core.type("ada: /ask");
    await core.says("room: which number?   (awaits a reply)");
    core.type("ada replies 42");
    await core.says("room: heard 42");
    core.type("ada dm hello");
    await core.says("dm:ada: you said hello");
    core.type("in lobby");
    core.type("ada: hi");
    await core.says("lobby: heard hi");
    core.type("quit");
    await core.says("Report: the game broke no rule.");
    expect(await core.stop("none")).toBe(EXIT.DONE);
    expect(core.errors()).toBe("");
  });

  test("a member can press the button of an older message with the id that `show` prints", async () => {
    const core = await startPlayed();
    core.type("ada: /play dice");
    await core.says("throws a 4");
    core.type("ada: /play dice");
    await until(
      "two messages are shown",
      () => core.lines.filter((line) => /throws a 4/.test(line)).length === 2,
    );
    core.type("show");
    const [id = ""] = (await core.says("msg_")).split(" ");
    core.type(`bo presses Again on ${id}`);
    await core.says("room (edited): throws a 5");
    const { json } = await core.control("GET", "/messages");
    expect(json).toMatchObject({ messages: [{ id, updates: 1 }, { updates: 0 }] });
  });

  test("the answer to an invalid command says what to do", async () => {
    const core = await startPlayed();
    const said = (text: string) => until(`stderr has ${text}`, () => core.errors().includes(text));
    core.type("ada: /dice");
    await core.says("throws a 4");
    core.type("ada presses Stop");
    await said('ada sees no button "Stop" in the channel, but these buttons: [Again]');
    core.type("ada replies 42");
    await said("no message that ada sees awaits a reply");
    core.type("advance soon");
    await said("a duration is a positive number of milliseconds");
    core.type("dance");
    await said('"dance" is not a command: type help for the list');
  });

  test("the fake core keeps running when its input ends, and stops on SIGTERM", async () => {
    const core = await start();
    core.endInput();
    expect((await core.control("GET", "/ready")).status).toBe(503);
    expect(await core.stop("SIGTERM")).toBe(EXIT.DONE);
  });

  test("--json prints each message and the report as JSON, and --quiet prints no messages", async () => {
    const [json, quiet] = [await startPlayed("--json"), await startPlayed("--quiet")];
    for (const core of [json, quiet]) {
      core.type("ada: /dice");
      await core.control("GET", "/messages?contains=throws&wait=30");
      core.type("quit");
      await core.stop("none");
    }
    const printed = json.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(printed.map(({ type }) => type)).toEqual(["ready", "message", "report"]);
    expect(printed).toMatchObject([
      { workspaces: [WORKSPACE], grpc: json.grpc, http: json.url },
      { place: "room", text: "**Ada** throws a 4", buttons: [[{ label: "Again", action: "again" }]] },
      { broken: 0, findings: [] },
    ]);
    expect(quiet.lines.join("\n")).not.toContain("throws");
  });
});

describe("faults:", () => {
  test("lost streams end with UNAVAILABLE, and the next stream gets the unacked event again", async () => {
    const core = await start();
    const game = await core.follow().opened();
    core.type("ada: hello");
    await game.sees(1);
    expect(await core.control("POST", "/streams/lose")).toEqual({ status: 200, json: { streams: 1 } });
    expect(await game.ended()).toMatchObject({ code: status.UNAVAILABLE });
    const next = core.follow();
    expect((await next.sees(1))[0]).toMatchObject({ text: "hello", attempt: 2 });
    next.cancel();
  });

  test("an acked event is redelivered with a higher attempt", async () => {
    const core = await start();
    expect((await core.control("POST", "/redeliver")).status).toBe(409);
    const game = await core.follow().opened();
    game.ackAll();
    core.type("ada: hello");
    await game.sees(1);
    expect((await core.control("GET", "/settled?wait=30")).status).toBe(200);
    expect((await core.control("POST", "/redeliver")).status).toBe(200);
    expect((await game.sees(2))[1]).toMatchObject({ id: game.seen[0]?.id, attempt: 2 });
    game.cancel();
  });

  test("while the fake core is set to unavailable, publishing fails with UNAVAILABLE", async () => {
    const core = await start();
    expect((await core.control("POST", "/unavailable", { unavailable: true })).status).toBe(200);
    await expect(core.show(CARD_OF("hi"))).rejects.toMatchObject({ code: status.UNAVAILABLE });
    await core.control("POST", "/unavailable", { unavailable: false });
    expect(published(await core.show(CARD_OF("hi")))).toMatchObject({ sequence: 1 });
  });

  // time: ordering
  test("a smaller window holds back events until earlier events are acked", async () => {
    const core = await start();
    await core.control("POST", "/window", { window: 1 });
    const game = await core.follow().opened();
    core.type("ada: one");
    core.type("ada: two");
    const [one] = await game.sees(1);
    core.type("show");
    await core.says("The chat shows no messages.");
    expect(game.seen).toHaveLength(1);
    game.ack({ id: one?.id ?? "" });
    expect((await game.sees(2))[1]?.text).toBe("two");
    game.cancel();
  });

  // time: controlled
  test("when the clock is advanced, ack deadlines pass once, and lifetimes end", async () => {
    const core = await start("--strict");
    const game = await core.follow({ ackDeadline: { seconds: 30, nanos: 0 } }).opened();
    core.type("ada: hello");
    await game.sees(1);
    await core.show(CARD_OF("short"), { lifetime: { seconds: 60, nanos: 0 } });
    expect(await core.control("GET", "/messages")).toMatchObject({
      json: { messages: [{ isExpired: false }] },
    });
    const before = Date.parse(String((await core.control("GET", "/time")).json["now"]));
    const { json } = await core.control("POST", "/time", { advance: "90 s" });
    expect(Date.parse(String(json["now"])) - before).toBeGreaterThanOrEqual(90_000);
    expect((await game.sees(2))[1]).toMatchObject({ attempt: 2 });
    expect(await findings(core)).toContainEqual(expect.objectContaining({ code: "late-ack", count: 1 }));
    expect(await core.control("GET", "/messages")).toMatchObject({
      json: { messages: [{ isExpired: true }] },
    });
    game.cancel();
    expect(await core.stop()).toBe(EXIT.NO);
  });
});

test("the report lists each broken rule and each piece of advice once", async () => {
  const core = await start();
  const game = await core.follow().opened();
  core.type("ada: hello");
  const [seen] = await game.sees(1);
  await core.show(CARD_OF("a".repeat(2_001)));
  await core.show(update("room", { ...CARD, id: "msg_00000000000000000000000099" }));
  await core.show(update("room", { ...CARD, id: "msg_00000000000000000000000098" }));
  expect(await findings(core)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ code: "unacked", severity: "broken", count: 1 }),
      expect.objectContaining({ code: "unknown-message", severity: "broken", count: 2 }),
      expect.objectContaining({ code: "no-key", severity: "advice", count: 3 }),
      expect.objectContaining({ code: "no-fence", severity: "advice", count: 3 }),
      expect.objectContaining({ code: "long-text", severity: "advice", count: 1 }),
    ]),
  );
  await core.says("! unknown-message (broken rule)");
  expect(core.lines.filter((line) => line.includes("unknown-message"))).toHaveLength(1);
  game.ack({ id: seen?.id ?? "" });
  expect((await core.control("GET", "/settled?wait=30")).status).toBe(200);
  core.type("report");
  await core.says("Report: the game broke 1 rule.");
  await core.control("POST", "/reset");
  expect(await findings(core)).toEqual([]);
  expect(game.end).toBeUndefined();
  game.cancel();
});

test.each([
  ["an address that other machines can reach", ["--http", "0.0.0.0:0"], EXIT.USAGE, "add --allow-remote"],
  ["an address without a port", ["--listen", "127.0.0.1"], EXIT.USAGE, "It must be host:port"],
  ["a workspace id that is not a UUID", ["--workspace", "w1"], EXIT.USAGE, "It must be a UUID"],
  [
    "a token file that does not exist",
    ["--token-file", "/nowhere"],
    EXIT.SETTINGS,
    "cannot read the token file",
  ],
] as const)("%s is an error", async (_, args, code, text) => {
  const run = await runCli(["fake-core", "--listen", "127.0.0.1:0", ...args], { role: "nobody" });
  expect([run.code, run.stdout]).toEqual([code, ""]);
  expect(run.stderr).toContain(text);
});

test("the fake core exits with an error if its port is in use", async () => {
  const core = await start();
  const run = await startCliProcess(["fake-core", "--listen", core.grpc], { role: "nobody" }).ended;
  expect([run.code, run.stdout]).toEqual([EXIT.SETTINGS, ""]);
  expect(run.stderr).toContain("--listen cannot be used");
});
