import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import {
  standings,
  type EndReason,
  type Game,
  type Phase,
  type Player,
  type Question,
} from "../rules/game-state";
import type { MessageContent } from "../rules/output";
import { button, link, paragraphs, rows } from "./content";
import { letter, nameOfAnswer } from "./notices";
import { plain, plainName } from "./plain";

const NAMES_SHOWN = 12;
const BOARD_SHOWN = 10;
const BUTTONS_IN_ROW = 2;

/** Returns the live message of a game in its present state. */
export function showGame(game: Game): MessageContent {
  return { ...showPhase(game), data: viewModel(game) };
}

function showPhase(game: Game): MessageContent {
  const { phase } = game;
  switch (phase.name) {
    case "lobby":
      return showLobby(game);
    case "question": {
      const question = game.questions[phase.index];
      return question === undefined ? showEnd(game, "closing") : showQuestion(game, phase, question);
    }
    case "reveal": {
      const question = game.questions[phase.index];
      return question === undefined ? showEnd(game, "closing") : showReveal(game, phase, question);
    }
    case "over":
      return showEnd(game, phase.why);
  }
}

type PhaseOf<Name extends Phase["name"]> = Extract<Phase, { name: Name }>;

function showLobby(game: Game): MessageContent {
  const { id: gameId, host, questions, secondsPerQuestion, players } = game;
  return {
    kind: MessageKind.GAME_START,
    text: paragraphs(
      `**Trivia!** ${plainName(host.name)} opens a game.`,
      `${questions.length} questions, ${secondsPerQuestion} seconds each`,
      `_Joined so far:_ ${listNames([...players.values()])}`,
    ),
    rows: rows([button("Join", { do: "join", gameId }), button("Start", { do: "begin", gameId })]),
  };
}

function showQuestion(game: Game, phase: PhaseOf<"question">, question: Question): MessageContent {
  const { id: gameId, players, secondsPerQuestion } = game;
  const { index, answers } = phase;
  return {
    kind: answers.size === 0 ? MessageKind.QUESTION : MessageKind.ANSWER_UPDATE,
    text: paragraphs(
      `**${progress(game, index)}** · ${secondsPerQuestion} seconds`,
      `> ${plain(question.text)}`,
      question.kind === "number" ? `_The closest wins: type a number${unitOf(question)}._` : undefined,
      answers.size === 0 ? undefined : `${answers.size} of ${players.size} have answered`,
    ),
    ...(question.kind === "number"
      ? { awaitsReply: true }
      : {
          rows: rows(
            ...inRows(
              question.options.map((text, option) =>
                button(`${letter(option)} · ${text}`, { do: "answer", gameId, question: index, option }),
              ),
            ),
          ),
          image: question.picture,
        }),
  };
}

function showReveal(game: Game, phase: PhaseOf<"reveal">, question: Question): MessageContent {
  const { index, answers, gains } = phase;
  const winners = [...gains].map(
    ([id, points]) => `${plainName(game.players.get(id)?.name ?? "")} +${points}`,
  );
  return {
    kind: MessageKind.TIME_UP,
    text: paragraphs(
      `**${progress(game, index)}** · ${answers.size === game.players.size ? "Everyone has answered" : "Time is up"}`,
      `> ${plain(question.text)}`,
      `The answer: **${nameOfAnswer(question, question.right)}**`,
      winners.length === 0 ? "Nobody got it right." : shortened(winners).join(" · "),
    ),
    rows: rows([link("Read more", question.more)]),
    ...(question.kind === "choice" ? { image: question.picture } : {}),
  };
}

const END_LINES: Readonly<Record<EndReason, string>> = {
  played: "**Final board**",
  stopped: "**Game stopped**",
  "nobody-answers": "**Game over**: nobody is answering",
  closing: "**Game over**: the game service is shutting down",
};

function showEnd(game: Game, why: EndReason): MessageContent {
  const board = standings(game).slice(0, BOARD_SHOWN);
  return {
    kind: MessageKind.GAME_END,
    text: paragraphs(END_LINES[why], board.map(boardLine).join("\n")),
  };
}

const MEDALS = ["🥇", "🥈", "🥉"];

/** Returns a line of a board; `rank` counts from 0. */
export function boardLine({ name, points }: Pick<Player, "name" | "points">, rank: number): string {
  return `${MEDALS[rank] ?? `${rank + 1}th`} **${plainName(name)}** · ${points} points`;
}

function progress({ questions }: Game, index: number): string {
  return `Question ${index + 1} of ${questions.length}`;
}

function unitOf({ unit }: { readonly unit: string }): string {
  return unit === "" ? "" : ` of ${plain(unit)}`;
}

function listNames(players: readonly Player[]): string {
  return shortened(players.map(({ name }) => `**${plainName(name)}**`)).join(", ");
}

function shortened(items: readonly string[]): readonly string[] {
  if (items.length <= NAMES_SHOWN) return items;
  return [...items.slice(0, NAMES_SHOWN), `and ${items.length - NAMES_SHOWN} more`];
}

function inRows<T>(items: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(items.length / BUTTONS_IN_ROW);
  return Array.from({ length: count }, (_, i) => items.slice(i * BUTTONS_IN_ROW, (i + 1) * BUTTONS_IN_ROW));
}

/** Returns the state as data, for bridges with their own layout. Contains nothing that reveals an answer. */
function viewModel(game: Game): Record<string, unknown> {
  const { id, phase, questions, players } = game;
  return {
    game: id,
    phase: phase.name,
    questions: questions.length,
    ...("index" in phase ? { question: phase.index + 1, answered: phase.answers.size } : {}),
    ...("untilMs" in phase ? { endsAt: new Date(phase.untilMs).toISOString() } : {}),
    players: players.size,
    board: standings(game)
      .slice(0, BOARD_SHOWN)
      .map(({ id: user, name, points }) => ({ user, name, points })),
  };
}
