import type { Member, MessageContent } from "../../../kit/game/index";
import { notice } from "../view/cards";
import { showReceipt } from "../view/game-message";
import { secondsLeft, showNow } from "../view/progress";
import type { EndReason, Game, Phase, PhaseOf, Player, RevealReason, Rules } from "./game-state";
import { score } from "./scoring";

// These functions change a game. A message that a function returns is a notice for the member.

/** Minimum milliseconds between two updates of a live message within a phase. */
const UPDATE_GAP_MS = 500;
/**
 * Maximum number of players. If all players answer in the same second, their requests stay below a workspace's limit of
 * 250 requests per second.
 */
const PLAYERS_MAX = 200;
/** Minimum share of its time for which a question waits for a member who does not answer. */
const PATIENCE_MIN = 1 / 4;
/** Number of consecutive unanswered questions after which a game ends. */
const UNANSWERED_MAX = 2;

/** The value of `activeAt` before the first question. */
const LOBBY = -1;

/** Returns a game in the phase `lobby`. The id is also the seed of the questions. */
export function newGame(rules: Rules, id: string, channel: string, host: Member, nowMs: number): Game {
  return {
    id,
    channel,
    host,
    questions: rules.drawQuestions(rules.rounds, id),
    secondsPerQuestion: rules.secondsPerQuestion,
    players: [{ ...host, points: 0, activeAt: LOBBY }],
    phase: { name: "lobby", untilMs: nowMs + rules.lobbyMs },
    unanswered: 0,
    postedAtMs: nowMs,
    shownAtMs: nowMs,
    showAtMs: nowMs,
  };
}

/** Adds a player, and tells a member who joins late which question is open. */
export function join(game: Game, member: Member, nowMs: number): MessageContent {
  const isIn = isPlayer(game, member);
  if (!isIn && game.players.length >= PLAYERS_MAX) return notice("full");
  addPlayer(game, member);
  if (!isIn) showSoon(game);
  if (game.phase.name === "lobby") return notice(isIn ? "already-in" : "joined");
  return notice(isIn ? "already-in" : "joined-late", showNow(game, member.id, nowMs));
}

/** Ends the lobby when a player presses Start. */
export function begin(game: Game, member: Member, nowMs: number): MessageContent | undefined {
  if (game.phase.name !== "lobby") {
    noteActive(game, member);
    return notice(isPlayer(game, member) ? "has-begun" : "answer-to-join", showNow(game, member.id, nowMs));
  }
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
  // Even a late answer shows that the player is present, so the next question waits for the player.
  noteActive(game, member);
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

/** Ends the phase if its time limit has passed, or if all players for whom the question waits have answered. */
export function advance(game: Game, { revealMs }: Rules, nowMs: number): void {
  const { phase } = game;
  if (phase.name === "over") return;
  if (phase.name === "question") {
    if (nowMs < closesAt(game, phase)) return;
    const isComplete = phase.answers.length === game.players.length;
    const why = isComplete ? "everyone" : nowMs < phase.untilMs ? "active" : "time";
    reveal(game, phase, nowMs + revealMs, why);
  } else if (nowMs >= phase.untilMs) {
    const next = phase.name === "lobby" ? 0 : phase.index + 1;
    const isIdle = game.unanswered >= UNANSWERED_MAX && next < game.questions.length;
    if (isIdle) end(game, "nobody-answers");
    else ask(game, next, nowMs);
  }
}

/** Returns the time at which the phase ends or an update is due, in ms since the epoch; undefined after the end. */
export function nextTickOf(game: Game): number | undefined {
  const { phase, showAtMs = Infinity } = game;
  if (phase.name === "over") return undefined;
  return Math.min(phase.name === "question" ? closesAt(game, phase) : phase.untilMs, showAtMs);
}

/**
 * Returns when a question closes if nobody else answers, in ms since the epoch. The question waits for each player who
 * has not answered, but not long for a player who has left. Each question that others have answered since the player
 * was last active halves the wait, down to a quarter of the question's time. A question without an answer stays open
 * for its whole time, because one of the players has answered the last answered question.
 */
function closesAt({ players }: Game, phase: PhaseOf<"question">): number {
  const { index, answers, fromMs, untilMs } = phase;
  const answered = new Set(answers.map(({ user }) => user));
  const waits = players.filter(({ id }) => !answered.has(id)).map((player) => patience(player, index));
  return fromMs + Math.max(0, ...waits) * (untilMs - fromMs);
}

/** Returns the share of a question's time for which the question waits for a player: 1 for an active player. */
function patience({ activeAt }: Player, index: number): number {
  const passed = Math.max(0, index - activeAt - 1);
  return Math.max(PATIENCE_MIN, 2 ** -passed);
}

/**
 * Records that the live message must be posted again. A question that is posted again shows the seconds that are left.
 */
export function noteRepost(game: Game, nowMs: number): void {
  const { phase } = game;
  if (phase.name === "question") game.phase = { ...phase, secondsLeft: secondsLeft(phase.untilMs, nowMs) };
  game.message = undefined;
  game.showAtMs = 0;
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

function reveal(game: Game, phase: PhaseOf<"question">, untilMs: number, why: RevealReason): void {
  const { index, question } = phase;
  const answers = score(phase);
  for (const player of game.players) {
    player.points += answers.find(({ user }) => user === player.id)?.points ?? 0;
    // A question that nobody has answered does not show who has left, because the chat may not have shown the question.
    if (answers.length === 0) player.activeAt = Math.min(index, player.activeAt + 1);
  }
  game.unanswered = answers.length === 0 ? game.unanswered + 1 : 0;
  enter(game, { name: "reveal", index, question, untilMs, answers, why });
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

function addPlayer(game: Game, member: Member): void {
  if (!isPlayer(game, member)) game.players.push({ ...member, points: 0, activeAt: LOBBY });
  noteActive(game, member);
}

/** Records that a member is active, if the member is a player. */
function noteActive({ players, phase }: Game, { id, name }: Member): void {
  const activeAt = "index" in phase ? phase.index : LOBBY;
  const player = players.find((each) => each.id === id);
  if (player !== undefined) Object.assign(player, { name, activeAt });
}
