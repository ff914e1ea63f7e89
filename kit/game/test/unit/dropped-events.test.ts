import { createGame, type GameOptions } from "../../index";
import { testGame } from "../../testing";
import { UnsafeProcess } from "./unsafe-process";
import { World, WORKSPACE } from "./world";

const NOTICE = "That did not work. Try again in a moment.";
/** Milliseconds that are enough for all attempts of a handler. */
const ATTEMPTS_MS = 10_000;

/** A game whose handlers fail, unless `isRepaired` is set. */
function broken(options: Partial<GameOptions<undefined>> = {}) {
  const fault = { isRepaired: false };
  const fail = (): void => {
    if (!fault.isRepaired) throw new Error("always fails");
  };
  const game = createGame({ name: "broken", ...options });
  const press = game.action("press", fail);
  const answer = game.answer("answer", fail);
  const ring = game.timer("ring", fail);
  game.command("show", "shows a button", (turn) =>
    turn.reply({ text: "board", buttons: [[press("Press")]] }),
  );
  game.command("ask", "asks in a DM", (turn) => turn.ask("Which?", answer(), { to: turn.user.id }));
  game.command("later", "rings later", (turn) => turn.after("1 s", ring()));
  game.command("fail", "fails", fail);
  game.message(fail);
  return { game, fault };
}

function chatOf(options?: Partial<GameOptions<undefined>>) {
  const { game } = broken(options);
  const chat = testGame(game, { tolerate: true });
  const ada = chat.member("Ada");
  /** Returns the texts that only Ada sees, after all attempts. */
  const sees = async (): Promise<readonly string[]> => {
    await chat.clock.advance(ATTEMPTS_MS);
    return ada.messages.map(({ content }) => content.text);
  };
  return { chat, ada, sees };
}

test("a member whose command has failed too often sees one notice; other members see nothing", async () => {
  const { chat, ada, sees } = chatOf();
  const bo = chat.member("Bo");
  await ada.types("/broken fail");
  expect(ada.messages).toEqual([]);
  expect(await sees()).toEqual([NOTICE]);
  await chat.redeliver();
  expect(await sees()).toEqual([NOTICE]);
  expect(bo.messages).toEqual([]);
  chat.room.hides(NOTICE);
});

test("a notice about a press names the message with the button", async () => {
  const { chat, ada, sees } = chatOf();
  await ada.types("/broken show");
  await ada.presses("Press");
  expect(await sees()).toEqual([NOTICE]);
  const [board] = chat.room.messages;
  expect(ada.messages[0]?.content.data).toEqual({ about: board?.id });
});

test("a member whose answer has failed sees the notice in the direct conversation", async () => {
  const { ada, sees } = chatOf();
  await ada.types("/broken ask");
  await ada.dms("this one");
  expect(await sees()).toEqual(["Which?", NOTICE]);
  expect(ada.messages.at(-1)?.place).toBe("dm:ada");
});

test("a typed message leads to a notice only if it replies to a message of the game", async () => {
  const { chat, ada, sees } = chatOf();
  await ada.types("/broken show");
  await ada.types("not for the game");
  expect(await sees()).toEqual([]);
  const [board] = chat.room.messages;
  chat.core.receive(chat.core.workspaceIds[0] ?? "", {
    channel: { id: "room" },
    user: { id: "ada" },
    kind: { $case: "message", value: { text: "for the game", replyTo: board?.id } },
  });
  await chat.settle();
  expect(await sees()).toEqual([NOTICE]);
});

test("a timer whose handler has failed leads to no notice", async () => {
  const { chat, ada, sees } = chatOf();
  await ada.types("/broken later");
  await chat.clock.advance(120_000);
  expect(await sees()).toEqual([]);
  expect(chat.problems.join()).toContain("a timer is dropped");
});

test("a game can replace the notice, or show none", async () => {
  const other = chatOf({ failureNotice: "Das hat nicht geklappt." });
  await other.ada.types("/broken fail");
  expect(await other.sees()).toEqual(["Das hat nicht geklappt."]);
  const none = chatOf({ failureNotice: false });
  await none.ada.types("/broken fail");
  expect(await none.sees()).toEqual([]);
  expect(() => broken({ failureNotice: " " })).toThrow("set failureNotice to false");
});

test.each(["fail before", "fail after", "crash before", "crash after"] as const)(
  "the notice is shown once, and the event is dropped, despite this fault while the notice is published: %s",
  async (fault) => {
    const { game } = broken();
    const world = new World(game);
    const first = new UnsafeProcess(world, world.store, "one");
    await world.command("fail");
    first.faults.publish = fault;
    await world.advance(ATTEMPTS_MS);
    if (first.isDead) void new UnsafeProcess(world, world.store, "two");
    await world.advance(60_000);
    expect(world.shown).toEqual([`room (ada): ${NOTICE}`]);
    expect(world.core.report().map(({ code }) => code)).toContain("dead-letter");
  },
);

test("later events are handled if core refuses the notice", async () => {
  const { game, fault } = broken();
  const world = new World(game);
  const run = world.start();
  const publish = world.core.publish.bind(world.core);
  world.core.publish = (events) =>
    publish(
      events.map((event) =>
        event.content?.$case === "messageEphemeral" ? { ...event, content: undefined } : event,
      ),
    );
  await world.command("fail");
  await world.advance(ATTEMPTS_MS);
  fault.isRepaired = true;
  await world.command("show");
  expect(run.counts).toMatchObject({ deadLettered: 1, refused: 1, outages: 0 });
  expect(world.shown).toEqual(["room: board"]);
  expect(world.core.workspace(WORKSPACE)?.outbound).toHaveLength(1);
});
