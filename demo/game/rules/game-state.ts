import type { Member, MessageRef } from "../../../kit/game/index";

/** Settings and functions that all workspaces share. */
export interface Rules {
  /** The name of this game in commands. */
  readonly name: string;
  /** The names of the other games in the same workspaces. */
  readonly otherGames: readonly string[];
  readonly rounds: number;
  readonly secondsPerQuestion: number;
  readonly lobbyMs: number;
  readonly revealMs: number;
  /** Draws `count` questions; the same seed gives the same questions. */
  drawQuestions(count: number, seed: string): readonly Question[];
}

/** The state of a workspace. */
export interface State {
  /** Live games, at most one in a channel. */
  games: readonly Game[];
}

export interface Player {
  readonly id: string;
  name: string;
  points: number;
  /** Index of the question during which the member was last active; -1 in the lobby. Unanswered questions add 1. */
  activeAt: number;
}

interface Text {
  readonly text: string;
  /** URL of a page with more about the topic. */
  readonly more: string;
}

/** A question of a game, with its options in the order of the buttons. */
export type Question =
  | (Text & {
      readonly kind: "choice";
      readonly options: readonly string[];
      /** The index of the right option. */
      readonly right: number;
      /** URL of the question's picture. */
      readonly picture: string | undefined;
    })
  | (Text & { readonly kind: "number"; readonly right: number; readonly unit: string });

export interface Answer {
  /** Id of the member. */
  readonly user: string;
  /** The index of the option, or the number that was typed. */
  readonly value: number;
  readonly atMs: number;
  /** The points that the member wins with the answer: 0 until the phase `reveal`. */
  readonly points: number;
}

/** Why a game ended. */
export type EndReason = "played" | "stopped" | "nobody-answers" | "closing";

/** Why a question was closed: all players have answered, all active players have answered, or its time is up. */
export type RevealReason = "everyone" | "active" | "time";

/**
 * The phase of a game. Every phase except the last has a time limit:
 *
 *     lobby ─▶ question ─▶ reveal ─▶ question ─▶ … ─▶ reveal ─▶ over
 */
export type Phase =
  | { readonly name: "lobby"; readonly untilMs: number }
  | (Asked & {
      readonly name: "question";
      readonly fromMs: number;
      /** Seconds that were left when the question was posted again; undefined if it was posted only once. */
      readonly secondsLeft?: number | undefined;
    })
  | (Asked & { readonly name: "reveal"; readonly why: RevealReason })
  | { readonly name: "over"; readonly why: EndReason };

export type PhaseOf<Name extends Phase["name"]> = Extract<Phase, { name: Name }>;

interface Asked {
  /** Index of the question, from 0. */
  readonly index: number;
  readonly question: Question;
  readonly untilMs: number;
  /** The answers, earliest first; at most one from each member. */
  readonly answers: readonly Answer[];
}

/** A game in a channel. A single live message shows the whole game, from its lobby to its final board. */
export interface Game {
  readonly id: string;
  readonly channel: string;
  readonly host: Member;
  readonly questions: readonly Question[];
  readonly secondsPerQuestion: number;
  /** In the order of joining. */
  readonly players: Player[];
  phase: Phase;
  /** Number of consecutive unanswered questions, including the latest question. */
  unanswered: number;
  /** The live message; undefined until it is posted. */
  message?: MessageRef | undefined;
  /** The live message that `message` has replaced. A reply to it is still an answer. */
  formerMessage?: MessageRef | undefined;
  /** Time at which the live message was posted, in ms since the epoch. */
  postedAtMs: number;
  /** Time of the last update of the live message, in ms since the epoch. */
  shownAtMs: number;
  /** Time from which the next update can be shown; undefined if nothing has changed. */
  showAtMs?: number | undefined;
  /** Id of the timer for the next change. */
  timer?: string | undefined;
}

/** Returns the players, most points first. */
export function standings({ players }: Game): readonly Player[] {
  return players.toSorted((a, b) => b.points - a.points);
}
