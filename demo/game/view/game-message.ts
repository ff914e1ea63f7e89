import { link, type Button, type MessageContent } from "../../../kit/game/index";
import {
  standings,
  type Answer,
  type EndReason,
  type Game,
  type PhaseOf,
  type Player,
  type Question,
  type RevealReason,
} from "../rules/game-state";
import { paragraphs, plain, plainName } from "./content";
import { progress } from "./progress";
import { BOARD_SHOWN, viewModel } from "./view-model";

/** The functions that make the buttons of a live message. */
export interface GameButtons {
  readonly join: (label: string, payload: InGame) => Button;
  readonly begin: (label: string, payload: InGame) => Button;
  readonly answer: (label: string, payload: PressedOption) => Button;
}

/** The payload of a button in a live message. */
export type InGame = {
  /** Id of the game. */
  readonly game: string;
};

/** The payload of an option's button: the indexes of the question and of the option. */
export type PressedOption = InGame & { readonly question: number; readonly option: number };

const NAMES_SHOWN = 12;
const BUTTONS_IN_ROW = 2;

/** Returns the live message of a game. Each version shows the whole state. */
export function showGame(game: Game, buttons: GameButtons): MessageContent {
  return { ...showPhase(game, buttons), data: viewModel(game) };
}

function showPhase(game: Game, buttons: GameButtons): MessageContent {
  const { phase } = game;
  switch (phase.name) {
    case "lobby":
      return showLobby(game, buttons);
    case "question":
      return showQuestion(game, phase, buttons);
    case "reveal":
      return showReveal(game, phase);
    case "over":
      return showEnd(game, phase.why);
  }
}

function showLobby(
  { id, host, questions, secondsPerQuestion, players }: Game,
  { join, begin }: GameButtons,
): MessageContent {
  const names = players.map(({ name }) => `**${plainName(name)}**`);
  return {
    kind: "game_start",
    text: paragraphs(
      `**Trivia!** ${plainName(host.name)} opens a game.`,
      `${questions.length} questions, ${secondsPerQuestion} seconds each`,
      `_Players:_ ${shortened(names).join(", ")}`,
    ),
    buttons: [[join("Join", { game: id }), begin("Start", { game: id })]],
  };
}

function showQuestion(
  game: Game,
  { index, question, answers, secondsLeft }: PhaseOf<"question">,
  buttons: GameButtons,
): MessageContent {
  const time =
    secondsLeft === undefined ? `${game.secondsPerQuestion} seconds` : `${secondsLeft} seconds left`;
  const unit = question.kind === "number" && question.unit !== "" ? ` of ${plain(question.unit)}` : "";
  return {
    kind: answers.length === 0 ? "question" : "answer_update",
    text: paragraphs(
      `**${progress(game, index)}** · ${time}`,
      `> ${plain(question.text)}`,
      question.kind === "number" ? `_The closest wins: type a number${unit}._` : undefined,
      answers.length === 0 ? undefined : `${answers.length} of ${game.players.length} have answered`,
    ),
    ...(question.kind === "number"
      ? { awaitsReply: true }
      : { buttons: optionRows(game.id, index, question.options, buttons), image: question.picture }),
  };
}

function optionRows(
  game: string,
  question: number,
  options: readonly string[],
  { answer }: GameButtons,
): Button[][] {
  const buttons = options.map((text, option) =>
    answer(`${letter(option)} · ${text}`, { game, question, option }),
  );
  const rows: Button[][] = [];
  while (buttons.length > 0) rows.push(buttons.splice(0, BUTTONS_IN_ROW));
  return rows;
}

function showReveal(game: Game, phase: PhaseOf<"reveal">): MessageContent {
  const { index, question, answers, why } = phase;
  const nameOf = (user: string): string => game.players.find(({ id }) => id === user)?.name ?? "";
  const winners = answers
    .filter(({ points }) => points > 0)
    .map(({ user, points }) => `${plainName(nameOf(user))} +${points}`);
  return {
    kind: "time_up",
    text: paragraphs(
      `**${progress(game, index)}** · ${CLOSED[why]}`,
      `> ${plain(question.text)}`,
      `The answer: **${nameOfAnswer(question, question.right)}**`,
      winners.length === 0
        ? NO_WINNERS[answers.length === 0 ? "unanswered" : "wrong"]
        : shortened(winners).join(" · "),
    ),
    buttons: [[link("Read more", question.more)]],
    ...(question.kind === "choice" ? { image: question.picture } : {}),
  };
}

const CLOSED: Readonly<Record<RevealReason, string>> = {
  everyone: "Everyone has answered",
  active: "All active players have answered",
  time: "Time is up",
};
const NO_WINNERS = { unanswered: "Nobody answered.", wrong: "Nobody got it right." } as const;

const END_LINES: Readonly<Record<EndReason, string>> = {
  played: "**Final board**",
  stopped: "**Game stopped**",
  "nobody-answers": "**Game over**: nobody is answering",
  closing: "**Game over**: the game service is shutting down",
};
const MEDALS = ["🥇", "🥈", "🥉"];

/**
 * Returns the rank before a player's name on the board: a medal or a number. Players with equal points share a rank. A
 * player without points has no rank.
 */
function markOf({ points }: Player, players: readonly Player[]): string {
  if (points === 0) return "–";
  const place = players.filter((other) => other.points > points).length;
  return MEDALS[place] ?? `${place + 1}th`;
}

function showEnd(game: Game, why: EndReason): MessageContent {
  const players = standings(game);
  const board = players
    .slice(0, BOARD_SHOWN)
    .map((player) => `${markOf(player, players)} **${plainName(player.name)}** · ${player.points} points`);
  const isScoreless = why === "played" && players.every(({ points }) => points === 0);
  return {
    kind: "game_end",
    text: paragraphs(END_LINES[why], isScoreless ? "Nobody scored this time." : undefined, board.join("\n")),
  };
}

/** Returns the message that tells a member which of their answers counts. Its data contains this answer. */
export function showReceipt(
  before: "Locked in" | "You have already answered",
  question: Question,
  { value }: Answer,
): MessageContent {
  return { text: `${before}: **${nameOfAnswer(question, value)}**`, data: { answer: value } };
}

/** Returns an answer in words, as Markdown. */
function nameOfAnswer(question: Question, value: number): string {
  if (question.kind === "choice") return plain(`${letter(value)} · ${question.options[value] ?? ""}`);
  // Numbers below 10,000 get no separators, because they can be years.
  const number = value.toLocaleString("en", {
    maximumFractionDigits: 6,
    useGrouping: Math.abs(value) >= 10_000,
  });
  return plain(`${number} ${question.unit}`);
}

/** Returns the letter of an option: A for 0. */
function letter(option: number): string {
  return String.fromCodePoint("A".charCodeAt(0) + option);
}

function shortened(items: readonly string[]): readonly string[] {
  if (items.length <= NAMES_SHOWN) return items;
  return [...items.slice(0, NAMES_SHOWN), `and ${items.length - NAMES_SHOWN} more`];
}
