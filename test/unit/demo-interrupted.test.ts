import { atNumber, atQuestion, kinds, RULES, table, texts, type Output } from "../harness/game-table";

const ephemerals = (outputs: readonly Output[]) =>
  texts(outputs.filter(({ type }) => type === "message.ephemeral"));

describe("a member who joins late", () => {
  test("a member who joins late learns how long the question stays open", async () => {
    const here = await atQuestion();
    await here.after(3_500);
    const late = "You are in. Question 1 of 2 is open: answer now. Seconds left: 7.";
    expect(ephemerals(await here.press("cyd", "Join"))).toBe(late);
  });

  test("a member who joins late learns that the question asks for a number", async () => {
    const here = await atNumber();
    const late = "You are in. Question 2 of 2 is open: type a number now. Seconds left: 10.";
    expect(ephemerals(await here.press("cyd", "Join"))).toBe(late);
  });

  test("a member who joins late learns whether the next question or the final board follows the answer that is shown", async () => {
    const here = await atQuestion();
    await here.after(10_000);
    const next = "You are in. The next question comes in a moment.";
    expect(ephemerals(await here.press("cyd", "Join"))).toBe(next);
    await here.after(5_000);
    await here.types("ann", "5");
    await here.after(10_000);
    const last = "You are in. The final board comes in a moment.";
    expect(ephemerals(await here.press("dan", "Join"))).toBe(last);
  });

  test("a member who has already joined, or presses Start, also learns about the open question", async () => {
    const here = await atQuestion();
    const open = "Question 1 of 2 is open: answer now. Seconds left: 10.";
    expect(ephemerals(await here.press("bob", "Join"))).toBe(`You have already joined. ${open}`);
    expect(ephemerals(await here.press("bob", "Start"))).toBe(`The game has already started. ${open}`);
    const join = "The game has already started. To join the game, answer a question.";
    expect(ephemerals(await here.press("cyd", "Start"))).toBe(`${join} ${open}`);
    await here.press("bob", "A · ");
    const answered = "Question 1 of 2 is open, and you have answered it.";
    expect(ephemerals(await here.press("bob", "Join"))).toBe(`You have already joined. ${answered}`);
  });
});

describe("the end of a game", () => {
  test("the final board shows no medals if nobody has points", async () => {
    const here = await atNumber();
    expect(texts(await here.after(10_000))).toContain("Nobody answered.");
    const board =
      "**Final board**\n\nNobody scored this time.\n\n– **Ann** · 0 points\n– **\\*Bob\\*\\|\\~** · 0 points";
    expect(texts(await here.after(5_000))).toBe(board);
  });

  test("the final board shows the same medal for players with the same points, and then skips the next medal", async () => {
    const here = await atQuestion();
    await here.press("cyd", "Join");
    for (const who of ["ann", "bob", "cyd"]) await here.press(who, "A · ");
    await here.after(5_000);
    await here.types("cyd", "200");
    await here.types("ann", "110");
    await here.types("bob", "90");
    const [board] = await here.after(5_000);
    expect(board?.message.text.split("\n").slice(2)).toEqual([
      "🥇 **Ann** · 150 points",
      "🥇 **\\*Bob\\*\\|\\~** · 150 points",
      "– **cyd** · 0 points",
    ]);
  });

  test("the final board gives the third place to the next player after a tie for the first place", async () => {
    const here = table({ ...RULES, rounds: 1 });
    await here.command("ann", "start");
    for (const who of ["bob", "cyd"]) await here.press(who, "Join");
    await here.press("ann", "Start");
    for (const who of ["ann", "bob"]) await here.press(who, "B · ");
    await here.after(2_000);
    await here.press("cyd", "B · ");
    await here.after(5_000);
    for (const who of ["ann", "bob", "cyd"]) await here.types(who, "100");
    const [board] = await here.after(5_000);
    const medals = board?.message.text
      .split("\n")
      .slice(2)
      .map((line) => line.split(" ")[0]);
    expect(medals).toEqual(["🥇", "🥇", "🥉"]);
  });
});

test("a question closes early, and says so, when all players except an inactive one have answered", async () => {
  const here = await atQuestion();
  await here.press("ann", "A · ");
  expect(texts(await here.after(10_000))).toContain("Time is up");
  await here.after(5_000);
  await here.types("ann", "5");
  expect(texts(await here.after(4_999))).not.toContain("The answer");
  expect(texts(await here.after(1))).toContain("**Question 2 of 2** · All active players have answered");
});

test("the help does not mention ways to answer that only some chats support", async () => {
  const help = texts(await table().command("ann", ""));
  expect(help).toContain("Answer with a button, a reaction or a number, as the question says");
  expect(help).toContain(
    "Type the chat's command for games, and after it one of these:\n\n`start` · open a game",
  );
});

describe("`start` while a game runs", () => {
  const running = "A game is already running in this channel.";

  test("`start` shows the current state of the game, but only to the member who typed it", async () => {
    const here = table();
    await here.command("ann", "start");
    const lobby = await here.command("bob", "start");
    expect(kinds(lobby)).toEqual(["message.ephemeral card"]);
    const soon = `${running} The game starts in 30 seconds or sooner`;
    expect(texts(lobby)).toBe(`${soon}. To play, join it, or answer a question.`);
    expect(texts(await here.command("ann", "start"))).toBe(`${soon}, and you are in.`);
    await here.press("ann", "Start");
    const open = `${running} Question 1 of 2 is open: answer now. Seconds left: 10.`;
    expect(texts(await here.command("bob", "start"))).toBe(open);
  });

  test("`start` posts the game's message again if it is at least 30 seconds old, and the game continues in the new message", async () => {
    const here = table();
    const [lobby] = await here.command("ann", "start");
    await here.press("bob", "Join");
    await here.after(29_000);
    await here.press("ann", "Start");
    await here.after(1_000);
    const again = await here.command("bob", "start");
    expect(kinds(again)).toEqual([
      "message.ephemeral card",
      "message.update card",
      "message.create question",
    ]);
    const [, moved, question] = again;
    expect(moved).toMatchObject({ id: lobby?.id, message: { buttons: [] } });
    expect(moved?.message.text).toContain("the game goes on in a newer message");
    expect(question?.message.text).toContain("**Question 1 of 2** · 9 seconds left");
    const [, reveal] = [await here.press("ann", "B · "), await here.press("bob", "B · ")];
    expect(reveal.at(-1)).toMatchObject({ type: "message.update", id: question?.id });
  });

  test("`start` posts the game's message at most once in 30 seconds", async () => {
    const here = table({ ...RULES, lobbyMs: 120_000 });
    await here.command("ann", "start");
    await here.after(29_999);
    const posts: number[] = [];
    for (const waitMs of [1, 1_000, 28_999, 1]) {
      await here.after(waitMs);
      const created = (await here.command("bob", "start")).filter(({ type }) => type === "message.create");
      posts.push(created.length);
    }
    expect(posts).toEqual([1, 0, 0, 1]);
  });

  test("`start` keeps the answers that were given before, and the buttons of the older message still work", async () => {
    const here = table({ ...RULES, secondsPerQuestion: 60 });
    const [lobby] = await here.command("ann", "start");
    await here.press("bob", "Join");
    const [asked] = await here.press("ann", "Start");
    await here.press("ann", "A · ");
    await here.after(30_000);
    const again = await here.command("bob", "start");
    expect(again.at(-1)?.message).toMatchObject({ kind: "question", data: { answered: 1 } });
    expect(again.at(-1)?.message.text).toContain("1 of 2 have answered");
    const [, option] = asked?.message.buttons.flat() ?? [];
    const action = option !== undefined && "action" in option ? option.action : "";
    expect(ephemerals(await here.pressAction("bob", action, lobby?.id ?? ""))).toContain("Locked in");
  });

  test("a reply to the older message still counts as an answer", async () => {
    const here = table({ ...RULES, secondsPerQuestion: 60 });
    const [lobby] = await here.command("ann", "start");
    await here.press("ann", "Start");
    await here.press("ann", "A · ");
    await here.after(30_000);
    expect(kinds(await here.command("bob", "start"))).toContain("message.create question");
    expect(texts(await here.types("bob", "five", lobby?.id))).toContain("That is not a number");
  });
});
