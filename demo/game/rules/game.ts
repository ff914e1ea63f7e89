import { notice } from "../view/cards";
import { showGame, showReceipt } from "../view/game-message";
import type { EndReason, Game, Member, Phase } from "./game-state";
import { tellMember, type MessageContent, type Output } from "./input-output";
import { gainsOf } from "./scoring";

/** A game after a step, and the outputs to show. */
export interface GameStep {
  readonly game: Game;
  readonly outputs: readonly Output[];
}

/** Minimum time between two updates of a live message within a phase: at most two updates a second. */
const UPDATE_GAP_MS = 500;
/** Most members of one game. They can all answer at once within a workspace's limit of 250 requests a second. */
const PLAYERS_MAX = 200;
/** Number of consecutive questions without an answer after which a game ends. */
const UNANSWERED_MAX = 2;

/** Opens a game with its lobby, the live message that all later outputs of the game update. */
export function openGame(
  plan: Pick<Game, "id" | "channel" | "host" | "questions" | "secondsPerQuestion" | "revealMs">,
  lobbyMs: number,
  nowMs: number,
): GameStep {
  const game: Game = {
    ...plan,
    players: new Map([[plan.host.id, { ...plan.host, points: 0 }]]),
    phase: { name: "lobby", untilMs: nowMs + lobbyMs },
    unanswered: 0,
    shownAtMs: nowMs,
    isStale: false,
  };
  const { channel, id: ref } = plan;
  return { game, outputs: [{ type: "message.create", channel, ref, content: showGame(game) }] };
}

export function join(game: Game, member: Member, nowMs: number): GameStep {
  if (game.players.has(member.id)) return told(game, member, notice("already-in"));
  if (game.players.size >= PLAYERS_MAX) return told(game, member, notice("full"));
  return also(changed(withPlayer(game, member), nowMs), tell(game, member, notice("joined")));
}

/** Ends the lobby when a player presses Start. */
export function begin(game: Game, member: Member, nowMs: number): GameStep {
  if (game.phase.name !== "lobby") return told(game, member, notice("has-begun"));
  if (!game.players.has(member.id)) return told(game, member, notice("join-first"));
  return ask(game, 0, nowMs);
}

/** Records an answer to a question. A member's first answer counts, and answering joins the game. */
export function answer(game: Game, member: Member, index: number, value: number, nowMs: number): GameStep {
  const { phase } = game;
  const question = game.questions[index];
  if (
    question === undefined ||
    phase.name !== "question" ||
    phase.index !== index ||
    nowMs >= phase.untilMs
  ) {
    return told(game, member, notice("too-late"));
  }
  if (question.kind === "choice" && question.options[value] === undefined) return { game, outputs: [] };
  const first = phase.answers.get(member.id);
  if (first !== undefined)
    return told(game, member, showReceipt("You have already answered", question, first));
  if (!game.players.has(member.id) && game.players.size >= PLAYERS_MAX)
    return told(game, member, notice("full"));
  const given = { value, atMs: nowMs };
  const answers = new Map(phase.answers).set(member.id, given);
  const after = { ...withPlayer(game, member), phase: { ...phase, answers } };
  const next = answers.size === after.players.size ? reveal(after, nowMs) : changed(after, nowMs);
  return also(next, tell(game, member, showReceipt("Locked in", question, given)));
}

/** Ends the phase if its time is over, or else shows changes that are due. */
export function tick(game: Game, nowMs: number): GameStep {
  const { phase } = game;
  if (phase.name !== "over" && nowMs >= phase.untilMs) {
    switch (phase.name) {
      case "lobby":
        return ask(game, 0, nowMs);
      case "question":
        return reveal(game, nowMs);
      case "reveal":
        if (phase.index + 1 >= game.questions.length) return end(game, "played", nowMs);
        return game.unanswered >= UNANSWERED_MAX
          ? end(game, "nobody-answers", nowMs)
          : ask(game, phase.index + 1, nowMs);
    }
  }
  return game.isStale && nowMs >= game.shownAtMs + UPDATE_GAP_MS ? shown(game, nowMs) : { game, outputs: [] };
}

/** Returns the time of the next `tick`, in ms since the epoch; Infinity when the game is over. */
export function nextTickOf({ phase, isStale, shownAtMs }: Game): number {
  if (phase.name === "over") return Infinity;
  return isStale ? Math.min(phase.untilMs, shownAtMs + UPDATE_GAP_MS) : phase.untilMs;
}

export function end(game: Game, why: EndReason, nowMs: number): GameStep {
  return enter(game, { name: "over", why }, nowMs);
}

function ask(game: Game, index: number, nowMs: number): GameStep {
  const untilMs = nowMs + game.secondsPerQuestion * 1000;
  return enter(game, { name: "question", index, fromMs: nowMs, untilMs, answers: new Map() }, nowMs);
}

function reveal(game: Game, nowMs: number): GameStep {
  const { phase, questions, revealMs } = game;
  const question = phase.name === "question" ? questions[phase.index] : undefined;
  if (phase.name !== "question" || question === undefined) return { game, outputs: [] };
  const { index, answers } = phase;
  const gains = gainsOf(question, answers, phase);
  const players = new Map(game.players);
  for (const [id, player] of players) {
    players.set(id, { ...player, points: player.points + (gains.get(id) ?? 0) });
  }
  const unanswered = answers.size === 0 ? game.unanswered + 1 : 0;
  const untilMs = nowMs + revealMs;
  return enter({ ...game, players, unanswered }, { name: "reveal", index, untilMs, answers, gains }, nowMs);
}

function enter(game: Game, phase: Phase, nowMs: number): GameStep {
  return shown({ ...game, phase }, nowMs);
}

function withPlayer(game: Game, { id, name }: Member): Game {
  const points = game.players.get(id)?.points ?? 0;
  return { ...game, players: new Map(game.players).set(id, { id, name, points }) };
}

/** Shows a change within a phase, once `UPDATE_GAP_MS` has passed since the last update, with those made meanwhile. */
function changed(game: Game, nowMs: number): GameStep {
  return nowMs >= game.shownAtMs + UPDATE_GAP_MS
    ? shown(game, nowMs)
    : { game: { ...game, isStale: true }, outputs: [] };
}

function shown(game: Game, nowMs: number): GameStep {
  const { channel, id: ref } = game;
  return {
    game: { ...game, shownAtMs: nowMs, isStale: false },
    outputs: [{ type: "message.update", channel, target: { ref }, content: showGame(game) }],
  };
}

function told(game: Game, member: Member, content: MessageContent): GameStep {
  return { game, outputs: [tell(game, member, content)] };
}

function tell({ channel }: Game, { id: user }: Member, content: MessageContent): Output {
  return tellMember(channel, user, content);
}

function also({ game, outputs }: GameStep, ...more: readonly Output[]): GameStep {
  return { game, outputs: [...outputs, ...more] };
}
