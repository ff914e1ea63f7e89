import { createGame, link, md, type Content, type MemberTurn, type Turn } from "../../index";
import { testGame } from "../../testing";

interface State {
  throws: number;
}

/** A new game for each test, with a button, timers, questions, and failures on demand. */
function createDice() {
  const dice = createGame({ name: "dice", state: (): State => ({ throws: 0 }) });
  const card = ({ user, state }: MemberTurn<State>): Content => {
    state.throws += 1;
    return {
      text: md`${user.name} throws **${state.throws}**`,
      buttons: [[again("Again"), link("Rules", "https://example.com/rules")]],
    };
  };
  const again = dice.action("again", (turn) => turn.update(card(turn)));
  const stop = dice.timer("stop", (turn: Turn<State>) => turn.reply(`over at ${turn.now % 100_000}`));
  const topic = dice.answer("topic", (turn, text) => turn.post("room", md`${turn.user.name} wants ${text}`));
  dice
    .command("roll", "throws a die", (turn) => {
      turn.reply(card(turn));
      turn.after("20 s", stop());
    })
    .command("stop", "stops twice", (turn) => {
      turn.after("2 s", stop());
      turn.after("1 s", stop());
    })
    .command("ask", "asks the channel", (turn) => turn.ask("Which topic?", topic()))
    .command("suggest", "asks in a DM", (turn) => turn.ask("Which topic?", topic(), { to: turn.user.id }))
    .command("hint", "shows a secret", (turn) => turn.ephemeral("only you see this"))
    .command("fail", "throws", () => {
      throw new Error("no dice");
    })
    .command("blank", "posts an empty text", (turn) => turn.reply(" "))
    .command("ghost", "updates what is not shown", (turn) => turn.update("x", `msg_${"0".repeat(25)}9@room`))
    .message((turn, text) => {
      if (text.startsWith("echo")) turn.reply(md`${turn.user.name}: ${text}`);
    });
  return dice;
}

it("plays a command, a button and a timer", async () => {
  const chat = testGame(createDice());
  const ada = chat.member("Ada");
  const bo = chat.member("Bo");
  await ada.types("/dice roll");
  chat.room.shows("Ada throws **1**");
  expect(chat.room.buttons).toEqual(["Again", "Rules"]);
  await bo.presses("Again");
  chat.room.shows(/^Bo throws/);
  chat.room.hides("Ada");
  await chat.clock.advance("19 s");
  expect(chat.room.messages).toHaveLength(1);
  await chat.clock.advance("1 s");
  expect(chat.room.text).toBe("Bo throws **2**\n\nover at 20000");
  await chat.stop();
  expect(chat.report()).toEqual([]);
});

it.each(["/dice roll", "/play dice roll", "/roll", "/play   roll"])(
  "recognizes %s as a command",
  async (text) => {
    const chat = testGame(createDice());
    await chat.member("Ada").types(text);
    chat.room.shows("throws");
  },
);

it("runs timers in order, each at its own time", async () => {
  const chat = testGame(createDice());
  await chat.member("Ada").types("/stop");
  await chat.clock.advance("1 m");
  expect(chat.room.text).toBe("over at 1000\n\nover at 2000");
});

it("recognizes other texts as messages", async () => {
  const chat = testGame(createDice());
  const ada = chat.member("Ada");
  await ada.types("echo");
  chat.room.shows("Ada: echo");
  await ada.dms("echo 2");
  ada.sees("Ada: echo 2");
  chat.room.hides("echo 2");
});

it("shows ephemerals to one member", async () => {
  const chat = testGame(createDice());
  const [ada, bo] = [chat.member("Ada"), chat.member("Bo")];
  await ada.types("/hint");
  ada.sees("only you");
  expect(() => bo.sees("only you")).toThrow("Bo (ephemerals and DMs) has no messages.");
  expect(() => chat.room.shows("only you")).toThrow("no messages");
});

it("answers questions in the channel and in a DM", async () => {
  const chat = testGame(createDice());
  const [ada, bo] = [chat.member("Ada"), chat.member("Bo")];
  await ada.types("/ask");
  await ada.replies("cats");
  chat.room.shows("Ada wants cats");
  await bo.types("/suggest");
  bo.sees("Which topic?");
  await bo.replies("dogs");
  chat.room.shows("Bo wants dogs");
  await expect(chat.member("Cy", { channel: "other" }).replies("x")).rejects.toThrow(
    "no message that Cy sees awaits a reply",
  );
});

it("keeps workspaces and channels apart", async () => {
  const chat = testGame(createDice());
  const bo = chat.member("Bo", { workspace: "two", channel: "lobby" });
  await chat.member("Ada").types("/roll");
  await bo.types("/roll");
  expect(chat.room.text).toBe("Ada throws **1**");
  chat.channel("lobby", "two").shows("Bo throws **1**");
});

it("continues after a restart, and counts a redelivered event once", async () => {
  const chat = testGame(createDice());
  const ada = chat.member("Ada");
  await ada.types("/roll");
  await chat.restart();
  await chat.redeliver();
  await ada.presses("Again");
  await chat.redeliver();
  chat.room.shows("Ada throws **2**");
  await chat.clock.advance("20 s");
  chat.room.shows("over");
  expect(chat.room.messages).toHaveLength(2);
});

it("continues after a lost stream", async () => {
  const chat = testGame(createDice());
  const ada = chat.member("Ada");
  await ada.types("/roll");
  chat.core.endStreams();
  await chat.settle();
  await ada.presses("Again");
  chat.room.shows("Ada throws **2**");
});

it("lists the shown messages if an expected message is missing", async () => {
  const chat = testGame(createDice());
  const ada = chat.member("Ada");
  await ada.types("/roll");
  expect(() => chat.room.shows("Bo")).toThrow(
    'the channel "room" has no message with "Bo".\n' +
      'the channel "room" has these messages:\n' +
      "  - Ada throws **1**\n" +
      "    [Again] [Rules]",
  );
  expect(() => chat.room.hides(/throws/)).toThrow('the channel "room" has a message with /throws/.');
  await expect(ada.presses("Roll")).rejects.toThrow(
    'Ada sees no button "Roll", but these buttons: [Again] [Rules]',
  );
  await expect(ada.presses("Rules")).rejects.toThrow("opens https://example.com/rules");
});

it("a member can press a button that its message no longer shows", async () => {
  const game = createGame({ name: "old", state: () => ({ round: 1 }) });
  const pressed: number[] = [];
  const guess = game.action<{ round: number }>("guess", (turn, { round }) => {
    pressed.push(round);
    turn.state.round = round + 1;
    turn.update({ text: "board", buttons: [[guess("Guess", { round: turn.state.round })]] });
  });
  game.command("start", "starts", (turn) =>
    turn.reply({ text: "board", buttons: [[guess("Guess", { round: 1 })]] }),
  );
  const chat = testGame(game);
  const ada = chat.member("Ada");
  await ada.types("/old start");
  const old = ada.button("Guess");
  await ada.presses("Guess");
  await ada.presses(old);
  expect(pressed).toEqual([1, 1]);
  await chat.stop();
});

it("a game can use any channel id as a key of its state", async () => {
  const game = createGame({ name: "count", state: (): Record<string, number> => ({}) });
  game.command("up", "counts", (turn) => {
    turn.state[turn.channel] = (turn.state[turn.channel] ?? 0) + 1;
    turn.reply(`${turn.state[turn.channel]}`);
  });
  const chat = testGame(game);
  for (const channel of ["constructor", "__proto__", "toString"]) {
    const ada = chat.member("Ada", { channel });
    await ada.types("/count up");
    await chat.restart();
    await ada.types("/count up");
    chat.channel(channel).shows("2");
  }
  await chat.stop();
});

it("`stop` rejects if an event still waits for the retry of a failed event", async () => {
  const chat = testGame(createDice());
  const ada = chat.member("Ada");
  await expect(ada.types("/dice fail")).rejects.toThrow("no dice");
  await ada.types("/dice roll");
  chat.room.hides("throws");
  await expect(chat.stop()).rejects.toThrow(
    /an event waits, because the handler of an event has failed: let the time/,
  );
});

it("plays with members of any name, with two members of the same name, and with a member without a name", async () => {
  const game = createGame({ name: "names" });
  game.command("hi", "greets", (turn) => turn.reply(md`**${turn.user.name}** ${turn.user.id} waves`));
  const chat = testGame(game);
  for (const [id, name] of [
    ["a", "Ada"],
    ["b", "Ada"],
    ["c", ""],
    ["d", "\u202eada*"],
    ["e", "\u200b"],
  ] as const) {
    await chat.member(name, { id }).types("/names hi");
  }
  const texts = chat.room.messages.map(({ content }) => content.text);
  const names = ["Ada** a", "Ada** b", "c** c", "ada\\*** d", "?** e"];
  expect(texts).toEqual(names.map((each) => `**${each} waves`));
  await chat.stop();
});

it("the error about an unknown kind lists the known kinds", async () => {
  const game = createGame({ name: "kinds" });
  game.command("post", "posts", (turn) => turn.reply({ text: "x", kind: "result" as "card" }));
  const chat = testGame(game);
  await expect(chat.member("Ada").types("/kinds post")).rejects.toThrow(
    /"result" does not exist: use one of text, card/,
  );
});

describe("a failure of the game", () => {
  it.each([
    ["/fail", 'a handler has failed (handler: command "fail", Error: no dice)'],
    ["/blank", "message_create.message.text"],
    ["/ghost", "update only messages whose message_id a PublishResult contained"],
  ])("rejects the call that led to it: %s", async (text, problem) => {
    const chat = testGame(createDice());
    await expect(chat.member("Ada").types(text)).rejects.toThrow(problem);
    await chat.member("Bo").types("echo");
  });

  it("keeps the error of the handler as the cause", async () => {
    const chat = testGame(createDice());
    const error = await chat
      .member("Ada")
      .types("/fail")
      .catch((cause: unknown) => cause);
    expect(error).toMatchObject({ cause: new Error("no dice") });
  });

  it("does not reject a call with the option `tolerate`, but is listed as a problem", async () => {
    const chat = testGame(createDice(), { tolerate: true });
    const ada = chat.member("Ada");
    await ada.types("/fail");
    await chat.clock.advance("2 m");
    await ada.types("/roll");
    chat.room.shows("throws");
    expect(chat.problems.at(-1)).toContain("an event is dropped as a dead letter");
  });

  it("rejects an invalid event of a member", async () => {
    const chat = testGame(createDice());
    await expect(chat.member("Ada").types("")).rejects.toThrow("text has 0 characters");
  });
});

test("a press and a reply have the same reference to a message as the turn that posted the message", async () => {
  const game = createGame({ name: "old", state: () => ({ card: "" }) });
  const press = game.action("press", (turn) => turn.reply(`pressed ${turn.message === turn.state.card}`));
  game.message((turn) => turn.reply(`replied ${turn.replyTo === turn.state.card}`));
  game.command("post", "posts a card", (turn) => {
    turn.state.card = turn.reply({ text: "card", buttons: [[press("Press")]], awaitsReply: true });
  });
  const chat = testGame(game);
  const ada = chat.member("Ada");
  await ada.types("/old post");
  await chat.restart();
  await ada.presses("Press");
  chat.room.shows("pressed true");
  await ada.replies("hello");
  chat.room.shows("replied true");
  await chat.stop();
});

test("an answer to a question that was published just before a crash reaches the game", async () => {
  const chat = testGame(createDice());
  const ada = chat.member("Ada");
  await ada.types("/dice ask");
  await chat.restart();
  await ada.replies("cats");
  chat.room.shows("Ada wants cats");
  await chat.stop();
});
