import { existsSync } from "node:fs";
import { join } from "node:path";
import bank from "../../demo/game/questions/bank.json";
import { drawQuestions } from "../../demo/game/questions/draw-questions";
import { atNumber, atQuestion, CHOICE, kinds, table, texts, type Output } from "../harness/game-table";

/** The id of a message of another game. */
const OTHER_ID = "msg_01HZZZZZZZZZZZZZZZZZZZZZZZ";
const ephemeralsOf = (outputs: readonly Output[]) =>
  outputs.filter(({ type }) => type === "message.ephemeral");

test("a live game has one message, which is created with the lobby and updated until the final board", async () => {
  const here = table();
  expect(kinds(await here.command("ann", "start"))).toEqual(["message.create game_start"]);
  expect(kinds(await here.press("ann", "Start"))).toEqual(["message.update question"]);
  const answered = ["message.ephemeral card", "message.update time_up"];
  expect(kinds(await here.press("ann", "B · "))).toEqual(answered);
  expect(kinds(await here.after(5_000))).toEqual(["message.update question"]);
  expect(kinds(await here.types("ann", "99"))).toEqual(answered);
  expect(kinds(await here.after(5_000))).toEqual(["message.update game_end", "dm.create card"]);
  expect(await here.after(60_000)).toEqual([]);
  const live = here.sent().filter(({ type }) => type === "message.create" || type === "message.update");
  expect(new Set(live.map(({ id }) => id)).size).toBe(1);
});

test.each<[string, readonly string[], number, string]>([
  ["locked in", ["A · "], 0, "Locked in: **A · wrong**"],
  ["already answered", ["A · ", "B · "], 0, "You have already answered: **A · wrong**"],
  ["too late", ["B · "], 10_000, "Too late"],
])(
  "the response to a pressed answer is shown only to the member who pressed it: %s",
  async (_name, presses, afterMs, text) => {
    const here = await atQuestion();
    if (afterMs > 0) await here.after(afterMs);
    let outputs: readonly Output[] = [];
    for (const label of presses) outputs = await here.press("bob", label);
    const message = { data: { about: here.live } };
    expect(ephemeralsOf(outputs)).toMatchObject([{ channel: "c1", user: "bob", message }]);
    expect(texts(ephemeralsOf(outputs))).toContain(text);
  },
);

test("if a member presses a button of a finished game, only this member sees the response, which refers to the button's message", async () => {
  const here = await atQuestion();
  const action = 'trivia:answer:{"game":"e99","question":0,"option":1}';
  const outputs = await here.pressAction("bob", action, OTHER_ID);
  const message = { data: { about: OTHER_ID } };
  expect(outputs).toMatchObject([{ type: "message.ephemeral", channel: "c1", user: "bob", message }]);
  expect(texts(outputs)).toContain("That game is over");
});

test("a question's message shows the picture and the buttons, and does not reveal the answer", async () => {
  const here = table();
  await here.command("ann", "start");
  const [question] = await here.press("ann", "Start");
  const message = question?.message;
  const button = (label: string, option: number) => {
    const payload = { game: message?.data?.["game"], question: 0, option };
    return { label, action: `trivia:answer:${JSON.stringify(payload)}` };
  };
  const buttons = [[button("A · wrong", 0), button("B · right_one", 1)]];
  const options = [...CHOICE.options];
  const data = { phase: "question", question: 1, questions: 2, answered: 0, options, seconds: 10 };
  expect(message).toMatchObject({ image: CHOICE.picture, buttons, data });
  for (const field of ["right", "results"]) expect(message?.data).not.toHaveProperty(field);
});

// contract: text-escaped
test("member names and question text are escaped; a right answer earns points, and an earlier right answer earns more", async () => {
  expect(texts(await table().command("bob", "start"))).toContain("\\*Bob\\*\\|\\~");
  const here = table();
  await here.command("ann", "start");
  await here.press("bob", "Join");
  expect(texts(await here.press("ann", "Start"))).toContain("> Which of \\*these\\* is 2\\|3?");
  expect(texts(await here.press("ann", "B · "))).toContain("**B · right\\_one**");
  await here.after(5_000);
  const timeUp = (await here.press("bob", "B · ")).at(-1);
  expect(timeUp?.message.text).toContain("Ann +150 · \\*Bob\\*\\|\\~ +125");
  expect(timeUp?.message.buttons).toEqual([[{ label: "Read more", url: "https://example.com/more" }]]);
});

test("the data of a receipt contains the member's answer; that of a reveal contains the right answer, and everyone's answer and points", async () => {
  const here = await atQuestion();
  const about = here.live;
  const receiptOf = (outputs: readonly Output[]) => ephemeralsOf(outputs)[0]?.message.data;
  const where = { about, phase: "question", question: 1 };
  expect(receiptOf(await here.press("ann", "B · "))).toEqual({ ...where, answer: 1 });
  const [receipt, reveal] = await here.press("bob", "A · ");
  expect(receipt?.message.data).toEqual({ ...where, answer: 0 });
  const results = [
    { user: "ann", answer: 1, points: 150 },
    { user: "bob", answer: 0, points: 0 },
  ];
  expect(reveal?.message.data).toMatchObject({ phase: "reveal", question: 1, right: 1, results });
  await here.after(5_000);
  const next = { about, phase: "question", question: 2 };
  expect(receiptOf(await here.types("ann", "90"))).toEqual({ ...next, answer: 90 });
  expect(receiptOf(await here.types("bob", "many", here.live))).toEqual(next);
  const exact = [
    { user: "ann", answer: 90, points: 0 },
    { user: "bob", answer: 100, points: 200 },
  ];
  expect((await here.types("bob", "100")).at(-1)?.message.data).toMatchObject({
    right: 100,
    unit: "keys",
    results: exact,
  });
  expect((await here.after(5_000))[0]?.message.data).not.toHaveProperty("results");
});

test("the answer to a number question is a reply, which must be a number; the closest answers win", async () => {
  const here = await atNumber();
  expect(here.asked.map(({ message }) => message)).toMatchObject([
    { kind: "question", awaitsReply: true, buttons: [] },
  ]);
  expect(await here.types("bob", "I think 100")).toEqual([]);
  expect(await here.types("bob", "100", OTHER_ID)).toEqual([]);
  expect(texts(await here.types("bob", "many", here.live))).toContain("That is not a number");
  expect(texts(await here.types("ann", "90"))).toContain("Locked in: **90 keys**");
  expect(texts(await here.types("bob", "110", here.live))).toContain("Ann +150 · \\*Bob\\*\\|\\~ +150");
  const end = (await here.after(5_000)).map((output) => ("user" in output ? output.user : output.type));
  expect(end).toEqual(["message.update", "ann", "bob"]);
});

test.each([1, 2, 5, 15])(
  "the seed determines the %i questions of a game; if there are several, only the last is a number question",
  (count) => {
    const draw = (seed: string) => drawQuestions(count, seed, (name) => `http://pictures/${name}.png`);
    const drawn = draw("a");
    expect(draw("a")).toEqual(drawn);
    expect(draw("b")).not.toEqual(drawn);
    expect(new Set(drawn.map((question) => JSON.stringify(question))).size).toBe(count);
    const numberAt = drawn.flatMap(({ kind }, i) => (kind === "number" ? [i] : []));
    expect(numberAt).toEqual(count >= 2 ? [count - 1] : []);
  },
);

test("every picture of a question exists", () => {
  const names = bank.choices.flatMap(({ picture }) => picture ?? []);
  expect(names.length).toBeGreaterThan(0);
  const folder = join(__dirname, "../../demo/game/pictures");
  expect(names.filter((name) => !existsSync(join(folder, `${name}.png`)))).toEqual([]);
});

/** Plays a game in the channel c1, which Ann wins. Returns the game's table, and the message that offers a rematch. */
async function won() {
  const here = table();
  await here.command("ann", "start");
  await here.press("ann", "Start");
  await here.press("ann", "B · ");
  await here.after(5_000);
  await here.types("ann", "100");
  const [, offer] = await here.after(5_000);
  if (offer?.type !== "dm.create") throw new Error("no offer of a rematch");
  return { ...here, offer };
}

test("a rematch button that is pressed in a DM opens a lobby in the game's channel, and the DM with the button is updated", async () => {
  const here = await won();
  expect(here.offer).toMatchObject({ user: "ann" });
  expect(await here.press("ann", "Rematch")).toMatchObject([
    { type: "message.create", channel: "c1", message: { kind: "game_start" } },
    { type: "message.update", channel: "dm:ann", id: here.offer.id },
  ]);
  expect(texts(await here.press("ann", "Rematch"))).toContain("A game is already running in that channel");
});

test("if the workspace already has its maximum number of games, a member who presses a rematch button is told about the limit", async () => {
  const here = await won();
  const pressed: string[] = [];
  for (let i = 0; i < 101; i++) {
    here.chat.channel(`r${i}`, here.workspaceId);
    const action = `trivia:rematch:{"channel":"r${i}"}`;
    pressed.push(texts(await here.pressAction("ann", action, here.offer.id, "dm:ann")));
  }
  expect(pressed[99]).toContain("The lobby is open");
  expect(pressed[100]).toContain("Too many games are running");
});

// contract: message-awaits-reply
test.each([
  ["without `replyTo`", () => undefined],
  ["with the prompt as `replyTo`", (prompt: string) => prompt],
  ["with another message as `replyTo`", () => OTHER_ID],
])(
  "a prompt in a DM is answered by the member's next message in the DM, and by no later message: %s",
  async (_name, replyTo) => {
    const here = table();
    const [prompt] = await here.command("ann", "suggest");
    expect(prompt).toMatchObject({ type: "dm.create", user: "ann", message: { awaitsReply: true } });
    expect(await here.types("ann", "volcanoes")).toEqual([]);
    expect(await here.types("bob", "volcanoes", undefined, "dm:bob")).toEqual([]);
    const text = "**Ann** suggests a topic:\n\n> \\*volcanoes\\*";
    expect(await here.types("ann", "*volcanoes*", replyTo(prompt?.id ?? ""), "dm:ann")).toMatchObject([
      { type: "message.update", channel: "dm:ann", id: prompt?.id },
      { type: "message.create", channel: "c1", message: { text } },
    ]);
    expect(await here.types("ann", "more", undefined, "dm:ann")).toEqual([]);
  },
);

test("a new prompt to a member replaces the earlier prompt, and a prompt expires after 15 minutes", async () => {
  const here = table();
  await here.command("ann", "suggest", "c1");
  await here.command("ann", "suggest", "c2");
  expect(await here.types("ann", " ", undefined, "dm:ann")).toEqual([]);
  const [, topic] = await here.types("ann", "volcanoes", undefined, "dm:ann");
  expect(topic).toMatchObject({ channel: "c2" });
  expect(await here.types("ann", "more", undefined, "dm:ann")).toEqual([]);
  const [prompt] = await here.command("ann", "suggest");
  const messages = here.chat.core.workspace(here.workspaceId)?.messages ?? [];
  const shown = messages.find(({ id }) => id === prompt?.id);
  expect(shown?.expiresAtMs).toBe(here.chat.clock.now + 15 * 60_000);
  await here.after(15 * 60_000);
  expect(await here.types("ann", "volcanoes", undefined, "dm:ann")).toEqual([]);
});

test.each<[string, string]>([
  ["", "message.create help"],
  ["help", "message.create help"],
  ["suggest", "dm.create card"],
  ["stop", "message.ephemeral card"],
  ["dance", "message.ephemeral card"],
])("the command %j is answered with %s", async (text, answer) => {
  expect(kinds(await table().command("ann", text))).toEqual([answer]);
});

test("only the member who opened a game can stop it", async () => {
  const here = await atQuestion();
  expect(kinds(await here.command("bob", "stop"))).toEqual(["message.ephemeral card"]);
  expect(kinds(await here.command("ann", "stop"))).toEqual(["message.update game_end"]);
});

test("a member's name cannot reverse the text after it, and an invisible name is replaced by a placeholder", async () => {
  const here = table();
  const board = await here.command("Eve\u202e", "start");
  await here.press("محمد 🦊", "Join");
  await here.press("\u3164", "Join");
  expect(texts(board)).toContain("**Trivia!** Eve opens a game.");
  await here.press("Eve\u202e", "Start");
  for (const who of ["Eve\u202e", "محمد 🦊"]) await here.press(who, "B · ");
  const reveal = (await here.press("\u3164", "B · ")).at(-1);
  expect(reveal?.message.text).toContain("\nEve +150 · \u2068محمد 🦊\u2069 +150 · someone +150");
});

test("a typed number with two meanings is not accepted, and the notice says how to type each meaning; a reply may have any unit", async () => {
  const here = await atNumber();
  const unclear = await here.types("ann", "42,195");
  expect(kinds(unclear)).toEqual(["message.ephemeral card"]);
  expect(texts(unclear)).toBe(
    "Do you mean 42195 or 42.195? Type `42195` for the first, or `42.1950` for the second.",
  );
  expect(await here.types("ann", "42 minutes")).toEqual([]);
  expect(await here.types("ann", "42,195", OTHER_ID)).toEqual([]);
  expect(texts(await here.types("ann", "１００ keys"))).toContain("Locked in: **100 keys**");
  expect(texts(await here.types("bob", "99 or so", here.live))).toContain("That is not a number");
  expect(texts(await here.types("bob", "99 bits", here.live))).toContain("Locked in: **99 keys**");
});

test("a member who joins in the lobby waits for the start; a member who joins during a question learns that the question is open", async () => {
  const here = table();
  await here.command("ann", "start");
  expect(texts(await here.press("bob", "Join"))).toContain("The first question comes when the game starts.");
  await here.press("ann", "Start");
  expect(texts(ephemeralsOf(await here.press("cyd", "Join")))).toBe(
    "You are in. Question 1 of 2 is open: answer now. Seconds left: 10.",
  );
});

test("only players with points get a medal, and the reveal of an unanswered question says that nobody answered", async () => {
  const here = await atQuestion();
  expect(texts(await here.after(10_000))).toContain("Nobody answered.");
  await here.after(5_000);
  await here.types("ann", "100");
  await here.after(10_000);
  expect(texts(await here.after(5_000))).toContain(
    "🥇 **Ann** · 200 points\n– **\\*Bob\\*\\|\\~** · 0 points",
  );
});

test("players whose ids are numbers are listed in the order of joining", async () => {
  const here = table();
  await here.command("20", "start");
  await here.press("3", "Join");
  const [board] = await here.after(500);
  expect(board?.message.data).toMatchObject({ board: [{ user: "20" }, { user: "3" }] });
});
