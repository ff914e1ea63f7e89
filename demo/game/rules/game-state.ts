/** A member of a chat. */
export interface Member {
  readonly id: string;
  /** Display name; the id if the bridge sent no name. */
  readonly name: string;
}

export interface Player extends Member {
  points: number;
}

interface Text {
  readonly text: string;
  /** URL of a page with more about the topic. */
  readonly more: string;
}

/** A question as it is asked, with its options in the order of the buttons. */
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
  /** The index of the option, or the number that was typed. */
  readonly value: number;
  readonly atMs: number;
}

/** Why a game ended. */
export type EndReason = "played" | "stopped" | "nobody-answers" | "closing";

/**
 * The phase of a game. Every phase except the last has a time limit:
 *
 *     lobby ─▶ question ─▶ reveal ─▶ question ─▶ … ─▶ reveal ─▶ over
 */
export type Phase =
  | { readonly name: "lobby"; readonly untilMs: number }
  | (Asked & { readonly name: "question"; readonly fromMs: number })
  | (Asked & {
      readonly name: "reveal";
      /** The points won with this question, by member's id. */
      readonly gains: ReadonlyMap<string, number>;
    })
  | { readonly name: "over"; readonly why: EndReason };

interface Asked {
  /** Index of the question, from 0. */
  readonly index: number;
  readonly question: Question;
  readonly untilMs: number;
  /** Answers by member's id, earliest first. */
  readonly answers: Map<string, Answer>;
}

/** A game in a channel. One live message shows the game, from its lobby to its final board. */
export interface Game {
  /** Id of the game. It is also the `ref` of the live message: see `Output`. */
  readonly id: string;
  readonly channel: string;
  readonly host: Member;
  readonly questions: readonly Question[];
  readonly secondsPerQuestion: number;
  readonly revealMs: number;
  /** Players by member's id, in the order of joining. */
  readonly players: Map<string, Player>;
  phase: Phase;
  /** Number of consecutive unanswered questions, including the latest question. */
  unanswered: number;
  /** Time of the last update of the live message, in ms since the epoch. */
  shownAtMs: number;
  /** Whether the state has changed since the last update of the live message. */
  isStale: boolean;
}

/** Returns the players, most points first. */
export function standings(game: Game): readonly Player[] {
  return [...game.players.values()].toSorted((a, b) => b.points - a.points);
}
