import * as fc from "fast-check";
import { drawQuestions } from "../../demo/game/questions/draw-questions";
import type { Rules, State } from "../../demo/game/rules/game-state";
import type { OutboxEntry } from "../../kit/game/document";
import { createGame, memoryStore, type GameStore, type Json } from "../../kit/game/index";
import { readAction } from "../../kit/game/game";
import { ANY_CHARACTER, forAll, many } from "../harness/for-all";
import { placeOf, table } from "../harness/game-table";

const THREE_ROUNDS: Rules = {
  name: "trivia",
  otherGames: ["quiz"],
  rounds: 3,
  secondsPerQuestion: 10,
  lobbyMs: 30_000,
  revealMs: 5_000,
  drawQuestions: (count, seed) => drawQuestions(count, seed, (name) => `http://127.0.0.1/${name}.png`),
};
const GAMES = ["trivia", "quiz"];

const anyText = fc.string({ unit: ANY_CHARACTER, minLength: 1 });
const COMMANDS = ["start", "START now", "stop", "", "help", "suggest", "dance", "trivia stop"];
const REMATCHES = ['rematch:{"channel":"c1"}', 'rematch:{"channel":"dm:u1"}', "rematch", "no-rematch"];
const MEMBERS = ["u1", "u2", "u3", "u4", "u5"];

/** A press by a member: the index of a button of the message, or any action. */
const anyPress: fc.Arbitrary<number | string> = fc.oneof(
  { weight: 4, arbitrary: fc.nat(5) },
  { weight: 1, arbitrary: fc.constantFrom(...REMATCHES) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom("join", "begin", "answer", "rematch"), fc.jsonValue())
      .map(([name, payload]) => `${name}:${JSON.stringify(payload)}`.slice(0, 200)),
  },
  { weight: 1, arbitrary: fc.string({ unit: ANY_CHARACTER, minLength: 1, maxLength: 100 }) },
);

/** A random step: a command, press or text of any member. Some commands, presses and texts are valid. */
const anyStep = fc.record({
  waitMs: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 20_000 })),
  who: fc.constantFrom(...MEMBERS),
  name: fc.oneof(fc.constantFrom("Ann", "*B* | ~b~", "[x](http://y)"), fc.string({ unit: ANY_CHARACTER })),
  channel: fc.constantFrom("c1", "c2"),
  command: fc.oneof(fc.constantFrom(...COMMANDS), anyText),
  text: fc.oneof(fc.constantFrom("42", "1 969", "-3.5"), anyText),
  press: anyPress,
  /** Number of messages posted after the one whose button is pressed, or to which the member replies. */
  back: fc.oneof(fc.constant(0), fc.nat(5)),
  isReply: fc.boolean(),
  isDm: fc.boolean(),
  type: fc.constantFrom("command", "action", "action", "action", "message"),
});
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;

/** Opens a lobby in c1, and plays the steps. Rejects if a handler fails, or if core refuses an event. */
async function playAll(steps: readonly Step[], store: GameStore = memoryStore()) {
  const here = table(THREE_ROUNDS, { games: GAMES, store });
  await here.command("u1", "start");
  // Every place has a message.
  await here.command("u1", "help", "c2");
  for (const who of MEMBERS) await here.command(who, "suggest");
  for (const { waitMs, who, name, channel, command, text, press, back, isReply, isDm, type } of steps) {
    if (waitMs > 0) await here.after(waitMs);
    const place = isDm && type !== "command" ? `dm:${who}` : channel;
    const posted = here
      .sent()
      .filter((output) => output.type !== "message.ephemeral" && placeOf(output) === place);
    const target = posted.at(-1 - back) ?? posted.at(-1);
    if (target === undefined) throw new Error(`${place} has no message`);
    if (type === "command") await here.command(who, command, channel, name);
    else if (type === "message") await here.types(who, text, isReply ? target.id : undefined, place, name);
    else {
      const buttons = target.message.buttons
        .flat()
        .flatMap((button) => ("action" in button ? button.action : []));
      const action =
        typeof press === "string" ? `trivia:${press}` : (buttons[press % buttons.length] ?? "trivia:x");
      await here.pressAction(who, action, target.id, place, name);
    }
  }
  return here;
}

const steps = fc.array(anyStep, { maxLength: 60 });

/** Asserts that a property holds for 100 random values. */
const forAllAsync = <T>(values: fc.Arbitrary<T>, property: (value: T) => Promise<void>): Promise<void> =>
  fc.assert(fc.asyncProperty(values, property), { numRuns: many(100) });

test("core accepts every output of a game, and no handler fails, whatever members do", async () => {
  await forAllAsync(steps, async (all) => {
    const { chat } = await playAll(all);
    await chat.stop();
    expect(chat.report().filter(({ severity }) => severity === "broken")).toEqual([]);
  });
});

// time: controlled
test("games end on their own, each with one final board", async () => {
  await forAllAsync(steps, async (all) => {
    const store = memoryStore();
    const here = await playAll(all, store);
    // The duration of the longest possible game: a lobby, and 15 questions of one minute, each followed by a reveal.
    await here.after(30_000 + 15 * (60_000 + 5_000));
    const state = (await store.load(here.workspaceId))?.document.states[""] as unknown as State;
    expect(state.games).toEqual([]);
    // Only the newest message of each game must end with the final board, because `start` can post a game's message
    // again.
    const posted = new Map<unknown, string>();
    for (const { type, id, message } of here.sent()) {
      if (type === "message.create" && message.data?.["game"] !== undefined)
        posted.set(message.data["game"], id);
    }
    const ended = here
      .sent()
      .filter(({ type, message }) => type === "message.update" && message.kind === "game_end")
      .map(({ id, message }) => [message.data?.["game"], id]);
    expect(ended).toHaveLength(posted.size);
    expect(new Map(ended as [unknown, string][])).toEqual(posted);
  });
});

/** Returns an in-memory store that passes each new output to `onOutput`. */
function watchedStore(onOutput: (entry: OutboxEntry) => void): GameStore {
  const store = memoryStore();
  const seen = new Set<string>();
  return {
    ...store,
    save(workspaceId, stored, wakeAtMs) {
      for (const entry of stored.document.outbox) if (!seen.has(entry.key)) onOutput(entry);
      for (const { key } of stored.document.outbox) seen.add(key);
      return store.save(workspaceId, stored, wakeAtMs);
    },
  };
}

// time: controlled
test("a question is updated at most twice a second, however fast answers arrive, and its last update has the final count", async () => {
  const answer = fc.record({ who: fc.nat(40), waitMs: fc.nat(300) });
  const answers = fc.array(answer, { minLength: 5, maxLength: 30 });
  await forAllAsync(answers, async (all) => {
    const counts: OutboxEntry[] = [];
    const store = watchedStore((entry) => {
      if (entry.output.content.kind === "answer_update") counts.push(entry);
    });
    const here = table(THREE_ROUNDS, { games: GAMES, store });
    await here.command("u1", "start");
    const [question] = await here.press("u1", "Start");
    const [button] = question?.message.buttons.flat() ?? [];
    const action = button && "action" in button ? button.action : "";
    // Ann opened the game and does not answer, so the question stays open.
    for (const { who, waitMs } of all) {
      if (waitMs > 0) await here.after(waitMs);
      await here.pressAction(`m${who}`, action, question?.id ?? "");
    }
    await here.after(500);
    for (const [i, { atMs }] of counts.entries()) {
      const before = counts[i - 2];
      if (before !== undefined) expect(atMs - before.atMs).toBeGreaterThanOrEqual(1_000);
    }
    const answered = new Set(all.map(({ who }) => who)).size;
    expect(counts.at(-1)?.output.content.text).toContain(`${answered} of ${answered + 1} have answered`);
  });
});

test("reading any text as a button's `action` causes no error; a button's payload is unchanged after it is written and read", () => {
  const button = createGame({ name: "trivia" }).action<Json>("press", () => undefined);
  forAll(fc.string({ unit: ANY_CHARACTER }), (text) => {
    expect(() => readAction(text)).not.toThrow();
    const payload = { text: [...text].slice(0, 20).join("") };
    const pressed = button("Press", payload);
    expect("action" in pressed && readAction(pressed.action)).toEqual({ name: "press", payload });
  });
});
