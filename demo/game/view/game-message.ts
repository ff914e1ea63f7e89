import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import {
  standings,
  type Answer,
  type EndReason,
  type Game,
  type Phase,
  type Question,
} from "../rules/game-state";
import type { MessageContent } from "../rules/input-output";
import { button, card, link, paragraphs, plain, plainName, type Row } from "./content";
import { BOARD_SHOWN, viewModel } from "./view-model";

const NAMES_SHOWN = 12;
const BUTTONS_IN_ROW = 2;

type PhaseOf<Name extends Phase["name"]> = Extract<Phase, { name: Name }>;

/** Returns the live message of a game. Each version shows the whole state. */
export function showGame(game: Game): MessageContent {
  return { ...showPhase(game), data: viewModel(game) };
}

function showPhase(game: Game): MessageContent {
  const { phase } = game;
  switch (phase.name) {
    case "lobby":
      return showLobby(game);
    case "question":
      return showQuestion(game, phase);
    case "reveal":
      return showReveal(game, phase);
    case "over":
      return showEnd(game, phase.why);
  }
}

function showLobby({ id: gameId, host, questions, secondsPerQuestion, players }: Game): MessageContent {
  const names = [...players.values()].map(({ name }) => `**${plainName(name)}**`);
  return {
    kind: MessageKind.GAME_START,
    text: paragraphs(
      `**Trivia!** ${plainName(host.name)} opens a game.`,
      `${questions.length} questions, ${secondsPerQuestion} seconds each`,
      `_Players:_ ${shortened(names).join(", ")}`,
    ),
    rows: [{ buttons: [button("Join", { do: "join", gameId }), button("Start", { do: "begin", gameId })] }],
  };
}

function showQuestion(game: Game, { index, question, answers }: PhaseOf<"question">): MessageContent {
  const unit = question.kind === "number" && question.unit !== "" ? ` of ${plain(question.unit)}` : "";
  return {
    kind: answers.size === 0 ? MessageKind.QUESTION : MessageKind.ANSWER_UPDATE,
    text: paragraphs(
      `**${progress(game, index)}** · ${game.secondsPerQuestion} seconds`,
      `> ${plain(question.text)}`,
      question.kind === "number" ? `_The closest wins: type a number${unit}._` : undefined,
      answers.size === 0 ? undefined : `${answers.size} of ${game.players.size} have answered`,
    ),
    ...(question.kind === "number"
      ? { awaitsReply: true }
      : { rows: optionRows(game.id, index, question.options), image: question.picture }),
  };
}

function optionRows(gameId: string, question: number, options: readonly string[]): Row[] {
  const buttons = options.map((text, option) =>
    button(`${letter(option)} · ${text}`, { do: "answer", gameId, question, option }),
  );
  const rows: Row[] = [];
  while (buttons.length > 0) rows.push({ buttons: buttons.splice(0, BUTTONS_IN_ROW) });
  return rows;
}

function showReveal(game: Game, phase: PhaseOf<"reveal">): MessageContent {
  const { index, question, answers, gains } = phase;
  const winners = [...gains].map(
    ([id, points]) => `${plainName(game.players.get(id)?.name ?? "")} +${points}`,
  );
  return {
    kind: MessageKind.TIME_UP,
    text: paragraphs(
      `**${progress(game, index)}** · ${answers.size === game.players.size ? "Everyone has answered" : "Time is up"}`,
      `> ${plain(question.text)}`,
      `The answer: **${nameOfAnswer(question, question.right)}**`,
      winners.length === 0
        ? NO_WINNERS[answers.size === 0 ? "unanswered" : "wrong"]
        : shortened(winners).join(" · "),
    ),
    rows: [{ buttons: [link("Read more", question.more)] }],
    ...(question.kind === "choice" ? { image: question.picture } : {}),
  };
}

const NO_WINNERS = { unanswered: "Nobody answered.", wrong: "Nobody got it right." } as const;

const END_LINES: Readonly<Record<EndReason, string>> = {
  played: "**Final board**",
  stopped: "**Game stopped**",
  "nobody-answers": "**Game over**: nobody is answering",
  closing: "**Game over**: the game service is shutting down",
};
const MEDALS = ["🥇", "🥈", "🥉"];

/** Returns the mark before a player's name on the board. The best place is 0; a player without points has no place. */
function markOf(place: number, points: number): string {
  return points > 0 ? (MEDALS[place] ?? `${place + 1}th`) : "–";
}

function showEnd(game: Game, why: EndReason): MessageContent {
  const board = standings(game)
    .slice(0, BOARD_SHOWN)
    .map(({ name, points }, i) => `${markOf(i, points)} **${plainName(name)}** · ${points} points`);
  return { kind: MessageKind.GAME_END, text: paragraphs(END_LINES[why], board.join("\n")) };
}

/** Returns the message that tells a member which of their answers counts. Its data contains this answer. */
export function showReceipt(
  before: "Locked in" | "You have already answered",
  question: Question,
  { value }: Answer,
): MessageContent {
  return { ...card(`${before}: **${nameOfAnswer(question, value)}**`), data: { answer: value } };
}

function progress({ questions }: Game, index: number): string {
  return `Question ${index + 1} of ${questions.length}`;
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
