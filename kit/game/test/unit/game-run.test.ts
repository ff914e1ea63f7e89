import { gate } from "../../../test/harness/gate";
import { createGame, memoryStore, type GameStore, type MessageRef } from "../../index";
import type { OutboundEvent } from "../../../../proto/gen/chatbridge/v1/game";
import type { FollowListener } from "../../core-link";
import type { MemoryLink } from "../../testing/memory-link";
import { TimerHold } from "../../timer-hold";
import { World, WORKSPACE } from "./world";

interface Count {
  count: number;
  board?: MessageRef;
}

function counter() {
  const game = createGame({ name: "count", state: (): Count => ({ count: 0 }) });
  const up = game.action<{ by: number }>("up", (turn, { by }) => {
    turn.state.count += by;
    turn.update({ text: `count ${turn.state.count}`, buttons: [[up("Up", { by })]] });
  });
  const ring = game.timer<string>("ring", (turn, what) => turn.reply(`ring ${what}`));
  const name = game.answer<{ place: string }>("name", (turn, text, { place }) =>
    turn.post(place, `name ${text}`),
  );
  game.command("start", "starts", (turn) => {
    turn.state.count += 1;
    turn.state.board = turn.reply({ text: `count ${turn.state.count}`, buttons: [[up("Up", { by: 10 })]] });
  });
  game.command("set", "changes the board", (turn, [text]) => {
    if (turn.state.board) turn.update(text ?? "", turn.state.board);
  });
  game.command("later", "rings later", (turn, [delay, what]) => {
    turn.after(`${Number(delay)} s`, ring(what ?? ""));
  });
  game.command("ask", "asks in a DM", (turn) => {
    turn.ask("Your name?", name({ place: turn.channel }), { to: turn.user.id, within: "1 m" });
  });
  game.command("here", "asks in the channel", (turn) => {
    turn.ask("Your name?", name({ place: turn.channel }));
  });
  game.command("fail", "fails", (turn) => {
    turn.state.count = 1_000;
    turn.reply("never shown");
    throw new Error("the handler failed");
  });
  game.message((turn, text) => {
    if (text === "hello") turn.reply("heard");
  });
  return game;
}

function press(world: World<Count>, label = "Up"): Promise<void> {
  const messages = world.core.workspace(WORKSPACE)?.messages ?? [];
  for (const { id, content } of messages.toReversed()) {
    const button = content.buttons.flat().find((each) => each.label === label);
    if (button && "action" in button) {
      return world.does({ $case: "action", value: { messageId: id, action: button.action } });
    }
  }
  throw new Error(`no button ${label}`);
}

describe("a game", () => {
  test("a game keeps the state of a workspace, and posts in the channel of the member", async () => {
    const world = new World(counter());
    world.start();
    await world.command("count start");
    await world.command("start");
    expect(world.shown).toEqual(["room: count 1", "room: count 2"]);
  });

  test("a game gets the payload of a pressed button, and replaces the message that contains the button", async () => {
    const world = new World(counter());
    world.start();
    await world.command("start");
    await press(world);
    await press(world);
    expect(world.shown).toEqual(["room: count 21"]);
  });

  test("a game ignores the commands and buttons of other games", async () => {
    const world = new World(counter());
    const run = world.start();
    await world.does({
      $case: "action",
      value: { messageId: "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV", action: "other:up" },
    });
    await world.types("not for the game");
    expect(world.sent).toBe(0);
    expect(run.counts.ignored).toBe(1);
  });

  test("a game answers an unknown command with a list of its commands, which only the member sees", async () => {
    const world = new World(counter());
    world.start();
    await world.command("count what");
    expect(world.shown[0]).toMatch(/^room \(ada\): \*\*count\*\*.*`start` · starts/s);
  });

  test("a game updates a message that an earlier turn posted, even in another process", async () => {
    const world = new World(counter());
    const first = world.start();
    await world.command("start");
    world.kill(first);
    world.start();
    await world.command("set changed");
    expect(world.shown).toEqual(["room: changed"]);
  });

  test("a game updates a message that was posted in the same batch", async () => {
    const world = new World(counter());
    world.start();
    void world.command("start");
    await world.command("set changed");
    expect(world.shown).toEqual(["room: changed"]);
  });
});

test("a press has the same reference to a message as the turn that posted the message", async () => {
  const game = createGame({ name: "refs", state: () => ({ posted: "" }) });
  const pressed: string[] = [];
  const up = game.action("up", (turn) => pressed.push(turn.message, turn.state.posted));
  game.command("post", "posts", (turn) => {
    turn.state.posted = turn.reply({ text: "board", buttons: [[up("Up")]] });
  });
  const world = new World(game);
  world.start();
  await world.command("post");
  const [board] = world.core.workspace(WORKSPACE)?.messages ?? [];
  await world.does({ $case: "action", value: { messageId: board?.id ?? "", action: "refs:up" } });
  expect(pressed).toEqual(["1@room", "1@room"]);
});

test("an event without an effect is saved with the next effect, and is recognized when core redelivers it", async () => {
  const game = createGame({ name: "guess", state: () => ({ isOpen: false }) });
  game.command("open", "opens", (turn) => {
    turn.state.isOpen = true;
  });
  game.message((turn) => {
    if (turn.state.isOpen) turn.reply("a guess");
  });
  const world = new World(game);
  const first = world.start();
  const version = async () => (await world.store.load(WORKSPACE))?.version;
  await world.types("creates the state");
  await world.types("early");
  expect(await version()).toBe(1);
  await world.command("open");
  expect(await version()).toBe(2);
  expect((await world.store.load(WORKSPACE))?.document.handled).toHaveLength(3);
  expect(first.counts.handled).toBe(3);
});

describe("questions", () => {
  test("the next message in the DM is the answer", async () => {
    const world = new World(counter());
    world.start();
    await world.command("ask");
    await world.types("Ada", "ada", "dm:ada");
    await world.types("hello", "ada", "dm:ada");
    expect(world.shown).toEqual(["dm:ada: Your name?", "room: name Ada", "dm:ada: heard"]);
  });

  test("a question still awaits its answer after a restart", async () => {
    const world = new World(counter());
    world.kill(await started(world, "ask"));
    world.start();
    await world.types("Ada", "ada", "dm:ada");
    expect(world.shown[1]).toBe("room: name Ada");
  });

  test("an answer that came in time counts, even if the game was down until the time limit had passed", async () => {
    const world = new World(counter());
    world.kill(await started(world, "ask"));
    await world.advance(59_000);
    await world.types("Ada", "ada", "dm:ada");
    await world.advance(60_000);
    world.start();
    await world.settled();
    expect(world.shown[1]).toBe("room: name Ada");
  });

  test("an answer that comes too late is an ordinary message", async () => {
    const world = new World(counter());
    world.start();
    await world.command("ask");
    await world.advance(60_000);
    await world.types("hello", "ada", "dm:ada");
    expect(world.shown[1]).toBe("dm:ada: heard");
  });

  test("in a channel, only the member who was asked can answer, and a reply to another message is no answer", async () => {
    const world = new World(counter());
    world.start();
    await world.command("start");
    await world.command("here");
    const [board, question] = world.core.workspace(WORKSPACE)?.messages ?? [];
    await world.types("Bo", "bo");
    await world.types("Board", "ada", "room", board?.id);
    await world.types("Ada", "ada", "room", question?.id);
    expect(world.shown).toEqual(["room: count 1", "room: Your name?", "room: name Ada"]);
  });
});

async function started(world: World<Count>, command: string) {
  const run = world.start();
  await world.command(command);
  return run;
}

describe("timers", () => {
  test("timers run in the order of their times", async () => {
    const world = new World(counter());
    world.start();
    await world.command("later 30 b");
    await world.command("later 20 a");
    await world.advance(19_999);
    expect(world.shown).toEqual([]);
    await world.advance(20_000);
    expect(world.shown).toEqual(["room: ring a", "room: ring b"]);
  });

  test("a timer runs once, even after a restart, and runs at once if it is overdue", async () => {
    const world = new World(counter());
    world.kill(await started(world, "later 20 a"));
    await world.advance(60_000);
    expect(world.shown).toEqual([]);
    world.start();
    await world.advance(1);
    await world.advance(60_000);
    expect(world.shown).toEqual(["room: ring a"]);
  });

  test("a timer runs in exactly one of several processes, and in the next process after a crash", async () => {
    const world = new World(counter());
    const first = world.start();
    const second = world.start();
    await world.command("later 20 a");
    await world.advance(25_000);
    await world.command("later 20 b");
    world.kill(first);
    await world.settled();
    await world.advance(25_000);
    await world.command("later 20 c");
    world.start();
    world.kill(second);
    await world.advance(25_000);
    expect(world.shown).toEqual(["room: ring a", "room: ring b", "room: ring c"]);
    expect(world.sent).toBe(3);
  });
});

/** A game in which a guess counts until a timer ends the round. */
function guessing() {
  const game = createGame({ name: "guess", state: () => ({ guesses: 0 }) });
  const end = game.timer("end", (turn) => turn.reply(`${turn.state.guesses} guesses`));
  game.command("start", "starts", (turn) => void turn.after("20 s", end()));
  game.message((turn) => {
    turn.state.guesses += 1;
  });
  return game;
}

describe("after an outage", () => {
  test("events that came before a timer was due are handled before the timer, and later events after it", async () => {
    const world = new World(guessing());
    const first = world.start();
    await world.command("start");
    world.kill(first);
    await world.advance(15_000);
    for (const guess of ["a", "b"]) await world.types(guess);
    await world.advance(15_000);
    await world.types("too late");
    world.start();
    await world.advance(5_000);
    expect(world.shown).toEqual(["room: 2 guesses"]);
    expect((await world.store.load(WORKSPACE))?.document.states[""]).toEqual({ guesses: 3 });
  });

  test("overdue timers wait until core has delivered the events that came before them", async () => {
    const world = new World(guessing());
    const first = world.start();
    await world.command("start");
    world.kill(first);
    await world.advance(15_000);
    await world.types("in time");
    await world.advance(15_000);
    // Deliveries reach the next process half a second after it has gained the shard.
    world.start(world.store, "slow", (link) => {
      const delayed = (listener: FollowListener): FollowListener => ({
        opened: (stream) => listener.opened(stream),
        gained: (shards) => listener.gained(shards),
        lost: (shards) => listener.lost(shards),
        delivered: (delivery) =>
          void world.clock.at(world.clock.now() + 500, () => listener.delivered(delivery)),
        ended: () => listener.ended(),
      });
      const follow = (listener: FollowListener): void => link.follow(delayed(listener));
      return Object.assign(Object.create(link) as MemoryLink, {
        follow,
        ack: (ids: readonly string[]) => link.ack(ids),
        publish: (events: readonly OutboundEvent[]) => link.publish(events),
      });
    });
    await world.advance(5_000);
    expect(world.shown).toEqual(["room: 1 guesses"]);
  });

  test("a timer waits for an earlier event whose handler has failed", async () => {
    const game = createGame({ name: "guess", state: () => ({ guesses: 0 }) });
    const end = game.timer("end", (turn) => turn.reply(`${turn.state.guesses} guesses`));
    game.command("start", "starts", (turn) => void turn.after("20 s", end()));
    let failures = 2;
    game.message((turn) => {
      if (failures-- > 0) throw new Error("not yet");
      turn.state.guesses += 1;
    });
    const world = new World(game);
    world.start();
    await world.command("start");
    await world.advance(19_900);
    await world.types("in time");
    await world.advance(10_000);
    expect(world.shown).toEqual(["room: 1 guesses"]);
  });

  test("a due timer waits only for a limited time while core delivers a backlog", async () => {
    const hold = new TimerHold();
    hold.note(0, 60_000);
    expect([hold.until(60_500, false), hold.until(61_000, false)]).toEqual([50_500, 61_000]);
    const runsAt = [60_200, 55_000, 40_000].map((atMs) => hold.runsAt(atMs, 60_000, false));
    expect(runsAt).toEqual([61_000, 61_000, 50_000]);
    expect([hold.until(70_000, true), hold.runsAt(69_000, 70_000, true)]).toEqual([60_000, 71_000]);
  });
});

describe("a handler that fails", () => {
  test("the handler changes nothing and runs 5 times, and then the event is dead-lettered", async () => {
    const world = new World(counter());
    const run = world.start();
    await world.command("fail");
    expect(run.counts.failed).toBe(1);
    await world.advance(120_000);
    expect(run.counts).toMatchObject({ failed: 5, deadLettered: 1 });
    await world.command("start");
    expect(world.shown).toEqual(["room (ada): That did not work. Try again in a moment.", "room: count 1"]);
    expect(world.core.report().map(({ code }) => code)).toContain("dead-letter");
  });

  test("the later events of the workspace wait, and keep their order", async () => {
    const order: string[] = [];
    let failures = 2;
    const game = createGame({ name: "order" });
    game.command("do", "does", (_turn, [what = ""]) => {
      if (what === "a" && failures-- > 0) throw new Error("not yet");
      order.push(what);
    });
    const world = new World(game);
    world.start();
    void world.command("do a");
    void world.command("do b");
    await world.command("do c");
    expect(order).toEqual([]);
    await world.command("do d");
    await world.advance(60_000);
    expect(order).toEqual(["a", "b", "c", "d"]);
  });
});

/** A store that calls `crash` before or after the save with the number `at.save`. */
function crashing(
  store: GameStore,
  at: { save: number; when: "before" | "after" },
  crash: () => void,
): GameStore {
  let saves = 0;
  return {
    ...store,
    async save(...args) {
      const isNow = ++saves === at.save;
      if (isNow && at.when === "before") {
        crash();
        throw new Error("the process has crashed");
      }
      const isSaved = await store.save(...args);
      if (isNow) {
        crash();
        throw new Error("the process has crashed");
      }
      return isSaved;
    },
  };
}

describe("a crash", () => {
  test.each([
    { save: 1, when: "before" },
    { save: 1, when: "after" },
    { save: 2, when: "before" },
    { save: 2, when: "after" },
  ] as const)("$when save $save loses no event, and doubles none", async (at) => {
    const store = memoryStore();
    const world = new World(counter(), store);
    const first = world.start(crashing(store, at, () => world.kill(first)));
    await world.command("start");
    await world.command("start");
    const second = world.start();
    await world.settled();
    await world.command("start");
    expect(world.shown).toEqual(["room: count 1", "room: count 2", "room: count 3"]);
    expect(world.sent).toBe(3);
    expect(second.isFollowing).toBe(true);
    const broken = world.core.report().filter(({ severity }) => severity === "broken");
    expect(broken).toEqual([]);
  });

  test("a redelivered event is handled once", async () => {
    const world = new World(counter());
    const run = world.start();
    await world.command("start");
    world.core.redeliver();
    await world.settled();
    expect(world.shown).toEqual(["room: count 1"]);
    expect(run.counts.handled).toBe(1);
  });
});

test("a process that was replaced publishes no stale event", async () => {
  const blocked = gate();
  let isFirst = true;
  const game = createGame({ name: "slow" });
  game.command("go", "goes", async (turn) => {
    if (!isFirst) return turn.reply("current");
    isFirst = false;
    await blocked.opened;
    // Core drops the first message because the second process has used its key, and the second message because of its
    // fence.
    turn.reply("stale");
    return turn.reply("stale too");
  });
  const world = new World(game);
  // The processes do not share a store, so only the fence shows that the first process is stale.
  const first = world.start(memoryStore(), "one");
  void world.command("go");
  await new Promise(setImmediate);
  world.start(memoryStore(), "one");
  await new Promise(setImmediate);
  blocked.open();
  await world.settled();
  expect(world.shown).toEqual(["room: current"]);
  expect(first.counts.stale).toBe(1);
});

describe("a workspace that core does not have", () => {
  test("the workspace keeps its state, and the game continues when the workspace is connected again", async () => {
    const world = new World(counter());
    world.start();
    await world.command("start");
    await world.command("later 20 a");
    world.core.removeWorkspace(WORKSPACE);
    await world.advance(30_000);
    expect(world.logged.filter((line) => line.includes("deleted or disconnected"))).toHaveLength(1);
    world.core.addWorkspace(WORKSPACE);
    await world.command("start");
    expect(world.shown).toEqual(["room: count 2"]);
    await world.advance(1_500);
    expect((await world.store.load(WORKSPACE))?.document).not.toHaveProperty("goneSinceMs");
  });

  test("the workspace loses its state after 30 days", async () => {
    const world = new World(counter());
    world.start();
    await world.command("later 20 a");
    world.core.removeWorkspace(WORKSPACE);
    await world.advance(29 * 86_400_000);
    expect(await world.store.load(WORKSPACE)).toBeDefined();
    await world.advance(2 * 86_400_000);
    expect(await world.store.load(WORKSPACE)).toBeUndefined();
    expect(await world.store.wakes()).toEqual([]);
  });
});

test("the saved document has an empty outbox soon after publishing", async () => {
  const world = new World(counter());
  world.start();
  await world.command("start");
  await world.advance(1_500);
  expect((await world.store.load(WORKSPACE))?.document.outbox).toEqual([]);
});

test("`onStop` can post messages when the process stops", async () => {
  const game = counter();
  game.onStop((turn) => {
    if (turn.state.board) turn.update("bye", turn.state.board);
  });
  const world = new World(game);
  const run = world.start();
  await world.command("start");
  await run.stop();
  expect(world.shown).toEqual(["room: bye"]);
});

test("`onStop` also runs for workspaces with timers that are not in memory, e.g. after an outage of core", async () => {
  const game = counter();
  game.onStop((turn) => {
    if (turn.state.board) turn.update("bye", turn.state.board);
  });
  const world = new World(game);
  const run = world.start();
  await world.command("start");
  await world.command("later 20 a");
  world.core.endStreams();
  await new Promise(setImmediate);
  await world.settled();
  expect([run.isFollowing, run.workspaces]).toEqual([true, 0]);
  await run.stop();
  expect(world.shown).toEqual(["room: bye"]);
});

test("a message that the state mentions can be updated after any number of other messages", async () => {
  const game = counter();
  game.command("flood", "posts many messages", (turn) => {
    for (let i = 0; i < 100; i++) turn.reply("flood");
  });
  const world = new World(game);
  world.start();
  await world.command("start");
  for (let i = 0; i < 8; i++) await world.command("flood");
  await world.command("set changed");
  expect(world.shown[0]).toBe("room: changed");
  await world.advance(1_500);
  expect((await world.store.load(WORKSPACE))?.document.messages.length).toBeLessThanOrEqual(500);
});
