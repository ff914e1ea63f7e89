import { readFileSync } from "node:fs";
import { join } from "node:path";
import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { create, published, update, type ContentInit } from "../../../test/harness/contents";
import { testFolder } from "../../../test/harness/folder";
import { publish } from "../../../test/harness/service";
import { createTestCa } from "../../../test/harness/test-ca";
import { until } from "../../../test/harness/wait";
import { joinIrc, type IrcMember } from "./harness/irc-member";
import { startInspircd, startNgircd, type IrcServer } from "./harness/irc-server";
import { openStage } from "./harness/irc-stage";

const folder = testFolder();
const ca = createTestCa();
afterAll(() => ca.close());

const SERVERS: readonly (readonly [string, () => Promise<IrcServer>])[] = [
  ["ngIRCd", () => startNgircd(folder)],
  ["InspIRCd", () => startInspircd(folder, ca.issue(["127.0.0.1"]), ca.certPath)],
];
const FAST = { IRC_CHANNELS: "games,quiet", IRC_BURST_LINES: "20", IRC_LINE_MS: "50" };
const SILENT = "give the bridge voice (/mode #quiet +v games), or lift the ban";

/** Starts a server and a bridge. `op` is the operator of #quiet, so the bridge has no rank there. */
async function setUp(start: () => Promise<IrcServer>) {
  const server = await start();
  const op = await joinIrc(server, "Op", "#quiet");
  const stage = await openStage(server, folder, FAST);
  const send = async (content: ContentInit) =>
    published((await publish(stage.service.clients, { workspaceId: stage.workspace.id, content }))[0]);
  /** Sets modes, and waits until the server has processed them. */
  async function setMode(modes: string): Promise<void> {
    op.client.raw(`MODE #quiet ${modes}`);
    await op.roundTrip();
  }
  async function problemOf(id: string): Promise<string | undefined> {
    const { rooms } = (await stage.bridge.health()).body as {
      rooms: readonly { id: string; problem?: string }[];
    };
    const room = rooms.find((each) => each.id === id);
    if (room === undefined) throw new Error(`the health page does not list ${id}`);
    return room.problem;
  }
  const warnings = () => stage.bridge.log.filter(({ msg }) => String(msg).includes(SILENT));
  async function close(): Promise<void> {
    op.leave();
    await stage.close();
  }
  return { server, op, stage, send, setMode, problemOf, warnings, close };
}

/** Returns everything that the bridge printed in a channel. */
function printed({ lines }: IrcMember, channel: string): string {
  const own = lines.filter(({ from, target }) => from === "games" && target === channel);
  return own.map(({ text }) => text).join("\n");
}

/** Plays a game of two questions in #games. */
async function playGame(ann: IrcMember, bob: IrcMember): Promise<void> {
  ann.say("!play start");
  await ann.sees("(answer with !1 or !2)");
  bob.say("!1");
  await bob.sees("You are in");
  ann.say("!2");
  await ann.sees("(answer with !1 to !4)");
  for (const member of [ann, bob]) member.say("!1");
  await ann.sees("Read more");
  await ann.sees("type a number");
  ann.say("10");
  bob.say("20");
  await ann.sees("Final board");
}

const GAME = [
  "Trivia!",
  "(answer with !1 or !2)",
  "Question 1 of 2 · 60 seconds",
  "(answer with !1 to !4)",
  "Question 1 of 2 · Everyone has answered",
  "The answer:",
  "Question 2 of 2 · 60 seconds",
  "type a number",
  "Question 2 of 2 · Everyone has answered",
  "The answer:",
  "Final board",
];

// time: ordering
test.each(SERVERS)(
  "on %s, members of a moderated channel learn why they see no game, and see it after +v; another channel is not affected",
  async (_name, start) => {
    const { op, stage, setMode, problemOf, warnings, close } = await setUp(start);
    try {
      const [ann, bob] = (await stage.join("Ann", "Bob")) as [IrcMember, IrcMember];
      await setMode("+m");
      op.say("!play start");
      const hint = await op.sees("The bridge cannot write in #quiet");
      expect(hint).toMatchObject({ isNotice: true, target: "Op" });
      expect(hint.text).toContain("/mode #quiet +v games");
      await until("the health page names the mode", async () =>
        (await problemOf("#quiet"))?.includes("moderated (+m) and the bridge has no voice"),
      );
      expect(await problemOf("#games")).toBeUndefined();

      await playGame(ann, bob);
      const lines = printed(ann, "#games");
      let at = 0;
      for (const words of GAME) {
        const found = lines.indexOf(words, at);
        expect([words, found]).toEqual([words, expect.any(Number)]);
        expect([words, found >= at]).toEqual([words, true]);
        at = found + words.length;
      }
      for (const words of GAME) {
        const expected = GAME.filter((each) => each === words).length;
        expect([words, lines.split(words).length - 1]).toEqual([words, expected]);
      }
      expect(printed(bob, "#games")).toBe(lines);
      expect(stage.bridge.output()).not.toContain("will be polled again");
      expect(printed(op, "#quiet")).toBe("");

      await setMode("+v games");
      await op.sees("Trivia! Op opens a game.");
      await op.sees("(answer with !1 or !2)");
      await until("the health page has no problem", async () => (await problemOf("#quiet")) === undefined);
      expect(warnings()).toHaveLength(1);
      op.say("!1");
      await op.sees("You have already joined");
    } finally {
      await close();
    }
  },
);

test("if +m hides the end of a question, the bridge prints the whole current state after -m, and logs the problem once", async () => {
  const { server, op, setMode, warnings, close } = await setUp(() => startNgircd(folder));
  const bob = await joinIrc(server, "Bob", "#quiet");
  try {
    op.say("!play start");
    await op.sees("(answer with !1 or !2)");
    bob.say("!1");
    await bob.sees("You are in");
    op.say("!2");
    await op.sees("(answer with !1 to !4)");
    const before = printed(op, "#quiet");
    const question = /> [^|\n]*/.exec(before)?.[0].trim() ?? "no question";
    await setMode("+mv Bob");
    for (const member of [op, bob]) member.say("!1");
    await until("a line is refused", () => warnings().length > 0);
    expect(printed(op, "#quiet")).toBe(before);
    await setMode("-m");
    // The server may deliver the last lines of the refused message too, because the bridge has sent them already.
    const whole = await until("the whole state is printed", () => {
      const last = printed(op, "#quiet").slice(before.length).split("Question 1 of 2").at(-1);
      return last?.includes("Everyone has answered") && last.includes("Read more") && last;
    });
    expect(whole).toContain(question);
    expect(whole).toContain("The answer:");
    expect(warnings()).toHaveLength(1);
  } finally {
    bob.leave();
    await close();
  }
});

const text = (words: string) => ({ kind: MessageKind.TEXT, text: words });

test("when a ban is lifted, the bridge prints the newest messages that it has held, each in its last version", async () => {
  const { op, send, setMode, problemOf, warnings, close } = await setUp(() => startNgircd(folder));
  try {
    await setMode("+b games!*@*");
    const ids: string[] = [];
    for (const number of [1, 2, 3, 4, 5]) {
      ids.push((await send(create("#quiet", text(`news ${number}`)))).messageId);
    }
    await send(update("#quiet", { id: ids[4] ?? "", ...text("news 5, corrected") }));
    await until("a line is refused", () => warnings().length > 0);
    expect(await problemOf("#quiet")).toContain("lift the ban");
    await send(create("#games", text("the other channel")));
    const ann = op;
    ann.client.raw("JOIN #games");
    await send(create("#games", text("after the refusals")));
    await ann.sees("after the refusals");
    await setMode("-b games!*@*");
    await op.sees("news 5, corrected");
    await until("the health page has no problem", async () => (await problemOf("#quiet")) === undefined);
    expect(printed(op, "#quiet").split("\n")).toEqual(["news 3", "news 4", "news 5, corrected"]);
  } finally {
    await close();
  }
});

test("a held message survives a kill of the bridge, and is printed as a whole when the next run gets voice", async () => {
  const { op, stage, send, setMode, problemOf, warnings, close } = await setUp(() => startNgircd(folder));
  try {
    await setMode("+m");
    const { messageId: id } = await send(create("#quiet", text("the first version")));
    await until("a line is refused", () => warnings().length > 0);
    await send(update("#quiet", { id, ...text("the second version") }));
    const saved = () => readFileSync(join(stage.settings.STATE_FOLDER, "messages.jsonl"), "utf8");
    await until("the update is saved", () => saved().includes("the second version"));
    await stage.bridge.stop("SIGKILL");
    await stage.startBridge();
    await until("the next run learns that it cannot write", async () => problemOf("#quiet"));
    await setMode("+v games");
    await op.sees("the second version");
    await until("the health page has no problem", async () => (await problemOf("#quiet")) === undefined);
    expect(printed(op, "#quiet")).toBe("the second version");
  } finally {
    await close();
  }
});

test.each([
  ["+i", "-i", /invite/i],
  ["+k secret", "-k secret", /key/i],
])(
  "a bridge that was kicked from a channel with %s holds the channel's messages until it can join again, and other channels do not wait",
  async (mode, undo, reason) => {
    const { op, stage, send, setMode, problemOf, close } = await setUp(() => startNgircd(folder));
    try {
      const [ann] = (await stage.join("Ann")) as [IrcMember];
      await setMode(mode);
      op.client.raw("KICK #quiet games :out");
      await until("the health page has the reason", async () =>
        reason.test((await problemOf("#quiet")) ?? ""),
      );
      await send(create("#quiet", text("held")));
      await send(create("#games", text("not held")));
      await ann.sees("not held");
      expect(stage.bridge.output()).not.toContain("will be polled again");
      await setMode(undo);
      if (mode === "+i") op.client.raw("INVITE games #quiet");
      await op.sees("held");
      expect(await problemOf("#quiet")).toBeUndefined();
    } finally {
      await close();
    }
  },
);
