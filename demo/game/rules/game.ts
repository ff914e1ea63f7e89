import type { Member, MessageContent } from "../../../kit/game/index";
import { notice } from "../view/cards";
import { showReceipt } from "../view/game-message";
import type { EndReason, Game, Phase, PhaseOf, Rules } from "./game-state";
import { score } from "./scoring";

// These functions change a game. A message that a function returns is a notice for the member.

/** Minimum milliseconds between two updates of a live message within a phase. */
const UPDATE_GAP_MS = 500;
/**
 * Maximum number of players. If all players answer in the same second, their requests stay below a workspace's limit of
 * 250 requests per second.
 */
const PLAYERS_MAX = 200;
/** Number of consecutive unanswered questions after which a game ends. */
const UNANSWERED_MAX = 2;

/** Returns a game in the phase `lobby`. The id is also the seed of the questions. */
export function newGame(rules: Rules, id: string, channel: string, host: Member, nowMs: number): Game {
  return {
    id,
    channel,
    host,
    questions: rules.drawQuestions(rules.rounds, id),
    secondsPerQuestion: rules.secondsPerQuestion,
    players: [{ ...host, points: 0 }],
    phase: { name: "lobby", untilMs: nowMs + rules.lobbyMs },
    unanswered: 0,
    shownAtMs: nowMs,
    showAtMs: nowMs,
  };
}

export function join(game: Game, member: Member): MessageContent {
  if (isPlayer(game, member)) return notice("already-in");
  if (game.players.length >= PLAYERS_MAX) return notice("full");
  addPlayer(game, member);
  showSoon(game);
  return notice(game.phase.name === "lobby" ? "joined" : "joined-late");
}

/** Ends the lobby when a player presses Start. */
export function begin(game: Game, member: Member, nowMs: number): MessageContent | undefined {
  if (game.phase.name !== "lobby") return notice("has-begun");
  if (!isPlayer(game, member)) return notice("join-first");
  ask(game, 0, nowMs);
  return undefined;
}

/**
 * Records an answer to a question. Only each member's first answer counts. An answer also adds its author as a player.
 */
export function answer(
  game: Game,
  member: Member,
  index: number,
  value: number,
  nowMs: number,
): MessageContent | undefined {
  const { phase, players } = game;
  if (phase.name !== "question" || phase.index !== index || nowMs >= phase.untilMs) return notice("too-late");
  const { question, answers } = phase;
  if (question.kind === "choice" && !question.options.some((_, option) => option === value)) return undefined;
  const first = answers.find(({ user }) => user === member.id);
  if (first !== undefined) return showReceipt("You have already answered", question, first);
  if (!isPlayer(game, member) && players.length >= PLAYERS_MAX) return notice("full");
  const given = { user: member.id, value, atMs: nowMs, points: 0 };
  game.phase = { ...phase, answers: [...answers, given] };
  addPlayer(game, member);
  showSoon(game);
  return showReceipt("Locked in", question, given);
}

/** Ends the phase if its time limit has passed, or if everyone has answered. */
export function advance(game: Game, { revealMs }: Rules, nowMs: number): void {
  const { phase } = game;
  if (phase.name === "over") return;
  if (phase.name === "question") {
    const hasEnded = nowMs >= phase.untilMs || phase.answers.length === game.players.length;
    if (hasEnded) reveal(game, phase, nowMs + revealMs);
  } else if (nowMs >= phase.untilMs) {
    const next = phase.name === "lobby" ? 0 : phase.index + 1;
    const isIdle = game.unanswered >= UNANSWERED_MAX && next < game.questions.length;
    if (isIdle) end(game, "nobody-answers");
    else ask(game, next, nowMs);
  }
}

/** Returns the time at which the phase ends or an update is due, in ms since the epoch; undefined after the end. */
export function nextTickOf({ phase, showAtMs = Infinity }: Game): number | undefined {
  return phase.name === "over" ? undefined : Math.min(phase.untilMs, showAtMs);
}

export function end(game: Game, why: EndReason): void {
  enter(game, { name: "over", why });
}

/** Asks the question with this index, or ends the game if there is none. */
function ask(game: Game, index: number, fromMs: number): void {
  const question = game.questions[index];
  if (question === undefined) return end(game, "played");
  const untilMs = fromMs + game.secondsPerQuestion * 1000;
  enter(game, { name: "question", index, question, fromMs, untilMs, answers: [] });
}

function reveal(game: Game, phase: PhaseOf<"question">, untilMs: number): void {
  const { index, question } = phase;
  const answers = score(phase);
  for (const player of game.players) {
    player.points += answers.find(({ user }) => user === player.id)?.points ?? 0;
  }
  game.unanswered = answers.length === 0 ? game.unanswered + 1 : 0;
  enter(game, { name: "reveal", index, question, untilMs, answers });
}

/** Starts a phase, which is shown immediately. */
function enter(game: Game, phase: Phase): void {
  game.phase = phase;
  game.showAtMs = 0;
}

/** Shows a change within a phase, at the earliest `UPDATE_GAP_MS` after the last update. */
function showSoon(game: Game): void {
  game.showAtMs ??= game.shownAtMs + UPDATE_GAP_MS;
}

function isPlayer({ players }: Game, { id }: Member): boolean {
  return players.some((player) => player.id === id);
}

function addPlayer({ players }: Game, { id, name }: Member): void {
  const player = players.find((each) => each.id === id);
  if (player === undefined) players.push({ id, name, points: 0 });
  else player.name = name;
}
