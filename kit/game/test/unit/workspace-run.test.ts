import { gate } from "../../../test/harness/gate";
import { createGame, memoryStore, type Content, type GameStore, type TimerToken } from "../../index";
import { PublishRefusal } from "../../../../proto/gen/chatbridge/v1/game";
import { HandFed } from "./hand-fed";
import { UnsafeProcess } from "./unsafe-process";
import { World, WORKSPACE } from "./world";

/** The notice about an event whose handler has failed 5 times. */
const DROPPED = "room (ada): That did not work. Try again in a moment.";

/** Waits for all work that does not depend on the clock. */
const idle = () => new Promise(setImmediate);

/** A game whose handlers record the words of commands, and call `during`, which can wait or fail. */
function noting(during: (word: string) => unknown) {
  const noted: string[] = [];
  const game = createGame<string[]>({ name: "note", state: () => [], maxEventAge: "1 h" });
  game.command("do", "does", async (turn, [word = ""]) => {
    await during(word);
    turn.state.push(word);
    noted.push(word);
    turn.reply(word);
  });
  return { game, noted };
}

async function stateOf(store: GameStore, channel = "") {
  return (await store.load(WORKSPACE))?.document.states[channel];
}

test("after a stream is lost, the events that were in progress are handled before later events", async () => {
  const blocked = gate();
  const { game } = noting((word) => (word === "a" ? blocked.opened : undefined));
  const world = new World(game);
  world.start();
  void world.command("do a");
  void world.command("do b");
  await idle();
  world.core.endStreams();
  await idle();
  blocked.open();
  await idle();
  await world.command("do c");
  await world.advance(60_000);
  expect(world.shown).toEqual(["room: a", "room: b", "room: c"]);
  expect(world.core.report().filter(({ severity }) => severity === "broken")).toEqual([]);
});

test("an event whose handler fails after its shard has moved does not block the workspace", async () => {
  const blocked = gate();
  const { game } = noting(async (word) => {
    if (word !== "a") return;
    await blocked.opened;
    throw new Error("fails");
  });
  const fed = new HandFed(game);
  fed.deliver("do a", 1);
  await idle();
  fed.run.lost([0]);
  blocked.open();
  await fed.run.settled();
  // Another process has handled the first event, and this process gains the shard again.
  fed.run.gained([0]);
  fed.deliver("do b", 2);
  await fed.run.settled();
  expect(fed.shown).toEqual(["b"]);
});

test("a redelivered event that was acked meanwhile does not block the workspace", async () => {
  const blocked = gate();
  const store = memoryStore();
  let isDown = false;
  const { game } = noting((word) => (word === "a" ? blocked.opened : undefined));
  const fed = new HandFed(game, {
    ...store,
    async save(...args) {
      if (isDown) throw new Error("the store is down");
      return store.save(...args);
    },
  });
  const id = fed.deliver("do a", 1);
  await idle();
  fed.deliver("do a", 1, 2);
  fed.deliver("do b", 2, 2);
  fed.publish = async () => {
    isDown = true;
    return [];
  };
  blocked.open();
  await fed.run.settled();
  expect([fed.acked, fed.nacked.includes(id)]).toEqual([[id], false]);
});

test("an event that was dropped as a dead letter is dropped again if the rest of its batch cannot be saved", async () => {
  const { game } = noting((word) => {
    if (word === "poison") throw new Error("always fails");
  });
  const world = new World(game);
  const process = new UnsafeProcess(world, world.store, "one");
  await world.command("do poison");
  await world.advance(3_000);
  void world.command("do b");
  process.faults.save = "fail before";
  await world.advance(6_000);
  await world.command("do c");
  await world.advance(120_000);
  expect(world.shown).toEqual([DROPPED, "room: b", "room: c"]);
  expect(world.core.report().map(({ code }) => code)).toEqual(["dead-letter"]);
});

test("an event that arrives during a save is handled, even if the save fails because another process has saved first", async () => {
  const { game } = noting(() => undefined);
  const store = memoryStore();
  const world = new World(game, store);
  const saving = gate();
  let isSlow = false;
  world.start({
    ...store,
    async save(...args) {
      if (isSlow) await saving.opened;
      return store.save(...args);
    },
  });
  await world.command("do a");
  const stored = await store.load(WORKSPACE);
  if (stored === undefined) throw new Error("nothing is stored");
  await store.save(WORKSPACE, { ...stored, version: stored.version + 1 }, undefined);
  isSlow = true;
  // The event arrives while the document with the empty outbox is saved.
  world.clock.advance(1_000);
  void world.command("do b");
  await idle();
  saving.open();
  await world.advance(2_000);
  expect(world.shown).toEqual(["room: a", "room: b"]);
  expect(world.core.report().filter(({ severity }) => severity === "broken")).toEqual([]);
});

test("all events of a workspace that was deleted in core are acked", async () => {
  const blocked = gate();
  const { game } = noting((word) => (word === "a" ? blocked.opened : undefined));
  const store = memoryStore();
  const fed = new HandFed(game, store);
  const reason = PublishRefusal.UNKNOWN_WORKSPACE;
  fed.publish = async (events) =>
    events.map(() => ({ outcome: { $case: "refused", value: { reason, field: "", message: "" } } }));
  const ids = [fed.deliver("do a", 1)];
  await idle();
  ids.push(fed.deliver("do b", 2), fed.deliver("do c", 3));
  blocked.open();
  await fed.run.settled();
  expect(fed.acked).toEqual(ids);
  expect((await store.load(WORKSPACE))?.document.goneSinceMs).toBeDefined();
});

test("a stop waits only for the handler in progress, and core redelivers the other events to the next process", async () => {
  const blocked = gate();
  const { game, noted } = noting((word) => (word === "a" ? blocked.opened : undefined));
  const world = new World(game);
  const first = world.start();
  for (const word of ["a", "b", "c"]) void world.command(`do ${word}`);
  await idle();
  const stopped = first.stop();
  blocked.open();
  await stopped;
  expect(noted).toEqual(["a"]);
  world.start();
  await world.settled();
  expect(world.shown).toEqual(["room: a", "room: b", "room: c"]);
});

test("members do not wait for the slow handlers of later events", async () => {
  const blocked = gate();
  const { game } = noting((word) => {
    world.clock.advance(100);
    return word === "b" ? blocked.opened : undefined;
  });
  const world = new World(game);
  world.start();
  for (const word of ["a", "b", "c"]) void world.command(`do ${word}`);
  await idle();
  expect(world.shown).toEqual(["room: a"]);
  blocked.open();
  await world.settled();
  expect(world.shown).toEqual(["room: a", "room: b", "room: c"]);
});

test("a handler that never ends is logged, and fails after 2 minutes", async () => {
  const { game } = noting((word) => (word === "hang" ? new Promise(() => undefined) : undefined));
  const world = new World(game);
  const run = world.start();
  void world.command("do hang");
  void world.command("do b");
  await idle();
  world.clock.advance(10_000);
  expect(world.logged.join()).toContain("a handler is slow");
  for (let i = 0; i < 80; i++) {
    world.clock.advance(10_000);
    await idle();
  }
  expect(run.counts).toMatchObject({ failed: 5, deadLettered: 1 });
  expect(world.shown).toEqual([DROPPED, "room: b"]);
});

test("timers that start each other immediately do not block events", async () => {
  let rings = 0;
  const game = createGame({ name: "endless" });
  const ring: () => TimerToken = game.timer("ring", (turn) => {
    if (++rings < 10_000) turn.at(turn.now, ring());
  });
  game.command("start", "starts", (turn) => void turn.at(turn.now, ring()));
  game.command("hi", "answers", (turn) => void turn.reply("hi"));
  const world = new World(game);
  world.start();
  await world.command("start");
  world.clock.advance(0);
  await world.command("hi");
  expect(rings).toBeLessThan(1_000);
  expect(world.shown).toEqual(["room: hi"]);
});

test.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
  "a channel can have the id %s",
  async (channel) => {
    const game = createGame({ name: "count", per: "channel", state: () => ({ count: 0 }) });
    game.command("up", "counts", (turn) => void turn.reply(`count ${++turn.state.count}`));
    const world = new World(game);
    world.kill(world.start());
    const up = () => world.does({ $case: "command", value: { text: "up" } }, "ada", channel);
    world.start();
    await up();
    await up();
    await world.advance(2_000);
    for (const { run } of world.processes) world.kill(run);
    world.start();
    await up();
    expect(world.shown).toEqual([1, 2, 3].map((n) => `${channel}: count ${n}`));
    expect(await stateOf(world.store, channel)).toEqual({ count: 3 });
  },
);

test.each(["constructor", "__proto__", "toString"])("%s is a command without a handler", async (word) => {
  const { game } = noting(() => undefined);
  const world = new World(game);
  const run = world.start();
  await world.command(word);
  await world.command(`note ${word} ${word}`);
  await world.does({
    $case: "action",
    value: { messageId: "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV", action: `note:${word}` },
  });
  expect(run.counts).toMatchObject({ handled: 2, ignored: 1, failed: 0 });
});

test.each<[string, unknown]>([
  ["one row of buttons without an array of rows", { text: "x", buttons: [{ label: "a", action: "b" }] }],
  ["a button that is a text", { text: "x", buttons: [["a"]] }],
  ["a lifetime that is too long", { text: "x", lifetime: Number.MAX_VALUE }],
])("content with %s makes its own handler fail, but no later handler", async (_what, content) => {
  const game = createGame({ name: "posting" });
  game.command("wrong", "posts", (turn) => void turn.reply(content as Content));
  game.command("hi", "answers", (turn) => void turn.reply("hi"));
  const world = new World(game);
  const run = world.start();
  await world.command("wrong");
  await world.advance(120_000);
  await world.command("hi");
  await world.settled();
  expect(run.counts).toMatchObject({ failed: 5, deadLettered: 1, outages: 0 });
  expect(world.shown).toEqual([DROPPED, "room: hi"]);
});

test("a question can wait for days", async () => {
  const game = createGame({ name: "asking" });
  const name = game.answer("name", (turn, text) => void turn.reply(`name ${text}`));
  game.command("ask", "asks", (turn) => void turn.ask("Your name?", name(), { within: "3 d" }));
  const world = new World(game);
  world.start();
  await world.command("ask");
  await world.advance(2 * 86_400_000);
  await world.types("Ada");
  expect(world.shown).toEqual(["room: Your name?", "room: name Ada"]);
});

test("the timers of a shard that is lost and gained again during a load are loaded again", async () => {
  const game = createGame({ name: "ringing" });
  const ring = game.timer("ring", (turn) => void turn.reply("ring"));
  game.command("later", "rings later", (turn) => void turn.after("20 s", ring()));
  const store = memoryStore();
  const loaded = gate();
  const fed = new HandFed(game, {
    ...store,
    async wakes() {
      const found = await store.wakes();
      await loaded.opened;
      return found;
    },
  });
  await idle();
  fed.run.lost([0]);
  // Another process owns the shard meanwhile.
  const other = new HandFed(game, store);
  other.deliver("later", 1);
  await other.run.settled();
  fed.run.gained([0]);
  loaded.open();
  await fed.run.settled();
  await fed.clock.advanceSettled(30_000, () => fed.run.settled());
  expect(fed.shown).toEqual(["ring"]);
});

test("the events of a timer have the fence of the last stream while there is no stream", async () => {
  const blocked = gate();
  const game = createGame({ name: "ringing" });
  const ring = game.timer("ring", async (turn) => {
    await blocked.opened;
    turn.reply("ring");
  });
  game.command("later", "rings later", (turn) => void turn.after("20 s", ring()));
  const fed = new HandFed(game);
  fed.deliver("later", 1);
  await fed.run.settled();
  fed.clock.advance(20_000);
  await idle();
  fed.run.ended();
  blocked.open();
  await fed.run.settled();
  expect(fed.published.map(({ fence }) => fence)).toEqual([{ streamId: "one", deliveryId: "", attempt: 0 }]);
});

test("the events of a timer are published by the next stream if the stream is lost during their publication", async () => {
  const game = createGame({ name: "ringing" });
  const ring = game.timer("ring", (turn) => void turn.reply("ring"));
  game.command("later", "rings later", (turn) => void turn.after("20 s", ring()));
  const fed = new HandFed(game);
  fed.deliver("later", 1);
  await fed.run.settled();
  const { publish } = fed;
  const blocked = gate();
  fed.publish = async (events) => {
    await blocked.opened;
    const isStale = events.some(({ fence }) => fence?.streamId === "one");
    const value = { reason: PublishRefusal.STALE, field: "", message: "" };
    return isStale ? events.map(() => ({ outcome: { $case: "refused", value } })) : publish(events);
  };
  fed.clock.advance(20_000);
  await idle();
  fed.run.ended();
  fed.run.opened({ streamId: "two", shards: 1 });
  fed.run.gained([0]);
  await idle();
  fed.clock.advance(1);
  blocked.open();
  await fed.clock.advanceSettled(30_000, () => fed.run.settled());
  expect(fed.shown).toEqual(["ring"]);
});
