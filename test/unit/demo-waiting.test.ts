import * as fc from "fast-check";
import { advance, answer, begin, join, newGame, nextTickOf } from "../../demo/game/rules/game";
import type { Game, Rules } from "../../demo/game/rules/game-state";
import { forAll } from "../harness/for-all";
import { CHOICE, RULES } from "../harness/game-table";

const SECONDS = 20;
const REVEAL_MS = 5_000;
const QUESTIONS = 6;
const PLAYERS = ["p0", "p1", "p2", "p3"];
const LONG: Rules = {
  ...RULES,
  rounds: QUESTIONS,
  secondsPerQuestion: SECONDS,
  revealMs: REVEAL_MS,
  drawQuestions: (count) => Array.from({ length: count }, () => CHOICE),
};
const memberOf = (id: string) => ({ id, name: id });

/** A press of an option during a question, or soon after its end. */
interface Press {
  readonly who: string;
  readonly atMs: number;
}

/** A question as it was played. Times are in ms since the question was asked. */
interface Played {
  readonly closedMs: number;
  /** The answers that count. */
  readonly answers: readonly Press[];
  /** The players who pressed an option, even if too late. */
  readonly present: ReadonlySet<string>;
}

/** Returns a game whose first question is asked at the time 0. */
function started(players: readonly string[] = PLAYERS): Game {
  const [host = ""] = players;
  const game = newGame(LONG, "seed", "c1", memberOf(host), 0);
  for (const id of players) join(game, memberOf(id), 0);
  begin(game, memberOf(host), 0);
  return game;
}

/** Advances a game to `untilMs`, or until the current question is closed. Returns the time. */
function advanceTo(game: Game, untilMs: number): number {
  for (;;) {
    const nextMs = nextTickOf(game) ?? Infinity;
    if (nextMs > untilMs) return untilMs;
    const { name } = game.phase;
    advance(game, LONG, nextMs);
    game.showAtMs = undefined;
    if (game.phase.name !== name) return nextMs;
  }
}

const isClosed = ({ phase }: Game): boolean => phase.name === "reveal";

/** Plays the current question, and waits for the next one. */
function play(game: Game, presses: readonly Press[]): Played {
  if (game.phase.name !== "question") throw new Error(`the phase is ${game.phase.name}`);
  const { index, fromMs, untilMs } = game.phase;
  const answers: Press[] = [];
  const present = new Set<string>();
  let closedMs: number | undefined;
  for (const press of presses.toSorted((a, b) => a.atMs - b.atMs)) {
    if (closedMs === undefined) {
      const nowMs = advanceTo(game, fromMs + press.atMs);
      if (isClosed(game)) closedMs = nowMs - fromMs;
    }
    if (closedMs !== undefined && press.atMs >= closedMs + REVEAL_MS) break;
    if (closedMs === undefined && !present.has(press.who)) answers.push(press);
    present.add(press.who);
    answer(game, memberOf(press.who), index, 0, fromMs + press.atMs);
    advance(game, LONG, fromMs + press.atMs);
    if (closedMs === undefined && isClosed(game)) closedMs = press.atMs;
  }
  closedMs ??= advanceTo(game, untilMs) - fromMs;
  advanceTo(game, Infinity);
  return { closedMs, answers, present };
}

/** Returns how long the next question must wait for a player who does not answer. */
function patienceMs(who: string, earlier: readonly Played[]): number {
  const last = earlier.findLastIndex(({ present }) => present.has(who));
  const passed = earlier.slice(last + 1).filter(({ answers }) => answers.length > 0).length;
  return SECONDS * 1000 * ([1, 1 / 2][passed] ?? 1 / 4);
}

const press = fc.record({ who: fc.constantFrom(...PLAYERS), atMs: fc.nat(SECONDS * 1000 - 1) });

test("each answered question that a player does not answer halves the time that later questions wait for the player, down to a quarter", () => {
  const questions = fc.array(fc.array(press, { maxLength: 5 }), {
    minLength: QUESTIONS,
    maxLength: QUESTIONS,
  });
  forAll(questions, (all) => {
    const game = started();
    const played: Played[] = [];
    for (const presses of all) {
      if (game.phase.name !== "question") break;
      const question = play(game, presses);
      const answered = new Set(question.answers.map(({ who }) => who));
      const waits = PLAYERS.filter((who) => !answered.has(who)).map((who) => patienceMs(who, played));
      const latestMs = Math.max(0, ...question.answers.map(({ atMs }) => atMs));
      const expectedMs = answered.size === 0 ? SECONDS * 1000 : Math.max(latestMs, ...waits);
      expect(question.closedMs).toBe(expectedMs);
      played.push(question);
    }
    expect(played.length).toBeGreaterThanOrEqual(2);
  });
});

test("the first question waits 20 s for a host who never answers, the second one 10 s, and later ones 5 s each", () => {
  const game = started(["host", "ann"]);
  const ann = [{ who: "ann", atMs: 1_000 }];
  const times = Array.from({ length: QUESTIONS }, () => play(game, ann).closedMs);
  expect(times).toEqual([20_000, 10_000, 5_000, 5_000, 5_000, 5_000]);
});

test("after a player has pressed too late, questions wait the whole time for this player again", () => {
  const game = started(["ann", "bob"]);
  const ann = { who: "ann", atMs: 1_000 };
  const bob = { who: "bob", atMs: 12_000 };
  const times = [[ann], [ann, bob], [ann], [ann, bob]].map((presses) => play(game, presses).closedMs);
  expect(times).toEqual([20_000, 10_000, 20_000, 10_000]);
});

test("a question that nobody answers stays open for its whole time, and does not shorten later waits for any player", () => {
  const game = started(["ann", "bob"]);
  const ann = [{ who: "ann", atMs: 1_000 }];
  const times = [[], ann, [], ann].map((presses) => play(game, presses).closedMs);
  expect(times).toEqual([20_000, 20_000, 20_000, 10_000]);
});

test("the next question waits the whole time for a member who joined during a question", () => {
  const game = started(["ann"]);
  join(game, memberOf("bob"), 500);
  expect(play(game, [{ who: "ann", atMs: 1_000 }]).closedMs).toBe(20_000);
  expect(play(game, [{ who: "ann", atMs: 1_000 }]).closedMs).toBe(20_000);
  expect(play(game, [{ who: "ann", atMs: 1_000 }]).closedMs).toBe(10_000);
});
