import { notice } from "../view/cards";
import { showGame, showReceipt } from "../view/game-message";
import { whereIn } from "../view/view-model";
import type { EndReason, Game, Member, Phase } from "./game-state";
import { tellMember, type MessageContent, type Turn } from "./input-output";
import { gainsOf } from "./scoring";

/** Minimum milliseconds between two updates of a live message within a phase. */
const UPDATE_GAP_MS = 500;
/**
 * Maximum number of players. If all players answer in the same second, their requests stay below a workspace's limit of
 * 250 requests per second.
 */
const PLAYERS_MAX = 200;
/** Number of consecutive unanswered questions after which a game ends. */
const UNANSWERED_MAX = 2;

/** Opens a game in the phase `lobby`. Creates the live message, which is updated until the game ends. */
export function openGame(
  plan: Pick<Game, "id" | "channel" | "host" | "questions" | "secondsPerQuestion" | "revealMs">,
  lobbyMs: number,
  { nowMs, outputs }: Turn,
): Game {
  const game: Game = {
    ...plan,
    players: new Map([[plan.host.id, { ...plan.host, points: 0 }]]),
    phase: { name: "lobby", untilMs: nowMs + lobbyMs },
    unanswered: 0,
    shownAtMs: nowMs,
    isStale: false,
  };
  outputs.push({ type: "message.create", channel: plan.channel, ref: plan.id, content: showGame(game) });
  return game;
}

export function join(game: Game, member: Member, turn: Turn): void {
  if (game.players.has(member.id)) return tell(game, member, notice("already-in"), turn);
  if (game.players.size >= PLAYERS_MAX) return tell(game, member, notice("full"), turn);
  addPlayer(game, member);
  showSoon(game, turn);
  tell(game, member, notice(game.phase.name === "lobby" ? "joined" : "joined-late"), turn);
}

/** Ends the lobby when a player presses Start. */
export function begin(game: Game, member: Member, turn: Turn): void {
  if (game.phase.name !== "lobby") return tell(game, member, notice("has-begun"), turn);
  if (!game.players.has(member.id)) return tell(game, member, notice("join-first"), turn);
  ask(game, 0, turn);
}

/**
 * Records an answer to a question. Only each member's first answer counts. An answer also adds its author as a player.
 */
export function answer(game: Game, member: Member, index: number, value: number, turn: Turn): void {
  const { phase, players } = game;
  if (phase.name !== "question" || phase.index !== index || turn.nowMs >= phase.untilMs) {
    return tell(game, member, notice("too-late"), turn);
  }
  const { question, answers } = phase;
  if (question.kind === "choice" && question.options[value] === undefined) return;
  const first = answers.get(member.id);
  if (first !== undefined) {
    return tell(game, member, showReceipt("You have already answered", question, first), turn);
  }
  if (!players.has(member.id) && players.size >= PLAYERS_MAX) {
    return tell(game, member, notice("full"), turn);
  }
  const given = { value, atMs: turn.nowMs };
  answers.set(member.id, given);
  addPlayer(game, member);
  // The receipt is sent before the reveal, because the reveal shows more than the receipt.
  tell(game, member, showReceipt("Locked in", question, given), turn);
  if (answers.size === players.size) reveal(game, phase, turn);
  else showSoon(game, turn);
}

/** Ends the phase if its time limit has passed. Otherwise shows pending changes if an update is due. */
export function tick(game: Game, turn: Turn): void {
  const { phase } = game;
  if (phase.name === "over" || turn.nowMs < phase.untilMs) {
    if (game.isStale) showSoon(game, turn);
  } else if (phase.name === "question") {
    reveal(game, phase, turn);
  } else {
    const next = phase.name === "lobby" ? 0 : phase.index + 1;
    const isIdle = game.unanswered >= UNANSWERED_MAX && next < game.questions.length;
    if (isIdle) end(game, "nobody-answers", turn);
    else ask(game, next, turn);
  }
}

/** Returns the time of the next `tick`, in ms since the epoch; Infinity when the game has ended. */
export function nextTickOf({ phase, isStale, shownAtMs }: Game): number {
  if (phase.name === "over") return Infinity;
  return isStale ? Math.min(phase.untilMs, shownAtMs + UPDATE_GAP_MS) : phase.untilMs;
}

export function end(game: Game, why: EndReason, turn: Turn): void {
  enter(game, { name: "over", why }, turn);
}

/** Asks the question with this index, or ends the game if there is none. */
function ask(game: Game, index: number, turn: Turn): void {
  const question = game.questions[index];
  if (question === undefined) return end(game, "played", turn);
  const fromMs = turn.nowMs;
  const untilMs = fromMs + game.secondsPerQuestion * 1000;
  enter(game, { name: "question", index, question, fromMs, untilMs, answers: new Map() }, turn);
}

function reveal(game: Game, phase: Extract<Phase, { name: "question" }>, turn: Turn): void {
  const { index, question, answers } = phase;
  const gains = gainsOf(question, answers, phase);
  for (const [id, player] of game.players) player.points += gains.get(id) ?? 0;
  game.unanswered = answers.size === 0 ? game.unanswered + 1 : 0;
  const untilMs = turn.nowMs + game.revealMs;
  enter(game, { name: "reveal", index, question, untilMs, answers, gains }, turn);
}

/** Starts a phase, and shows it immediately. */
function enter(game: Game, phase: Phase, turn: Turn): void {
  game.phase = phase;
  show(game, turn);
}

function addPlayer(game: Game, { id, name }: Member): void {
  game.players.set(id, { id, name, points: game.players.get(id)?.points ?? 0 });
}

/**
 * Shows a change within a phase. If the last update was less than `UPDATE_GAP_MS` ago, a later `tick` shows the change.
 */
function showSoon(game: Game, turn: Turn): void {
  game.isStale = true;
  if (turn.nowMs >= game.shownAtMs + UPDATE_GAP_MS) show(game, turn);
}

function show(game: Game, { nowMs, outputs }: Turn): void {
  const { channel, id: ref } = game;
  game.shownAtMs = nowMs;
  game.isStale = false;
  outputs.push({ type: "message.update", channel, target: { ref }, content: showGame(game) });
}

/** Sends a notice about the live message to one member. The data names the phase, so a chat can drop the notice later. */
export function tell(game: Game, { id: user }: Member, content: MessageContent, turn: Turn): void {
  const data = { ...whereIn(game), ...content.data };
  tellMember(turn, game.channel, user, { ...content, data }, { ref: game.id });
}
