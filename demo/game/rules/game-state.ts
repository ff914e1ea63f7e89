/** A member of a chat, as the rules know them. */
export interface Member {
  readonly id: string;
  /** What people call them; their id where the bridge does not say. */
  readonly name: string;
}

export interface Player extends Member {
  readonly points: number;
}

/** A question as it is asked: its options are in the order of its buttons. */
export type Question =
  | {
      readonly kind: "choice";
      readonly text: string;
      readonly options: readonly string[];
      /** The index of the right option. */
      readonly right: number;
      /** Where its picture is served. */
      readonly picture: string | undefined;
      /** Where to read more. */
      readonly more: string;
    }
  | {
      readonly kind: "number";
      readonly text: string;
      readonly right: number;
      readonly unit: string;
      readonly more: string;
    };

/** Who answered what, in the order in which they did. */
export type Answers = ReadonlyMap<string, Answer>;

export interface Answer {
  /** The index of the option, or the number that was typed. */
  readonly value: number;
  readonly atMs: number;
}

/** Why a game ended. */
export type EndReason = "played" | "stopped" | "nobody-answers" | "closing";

/**
 * What a game does now. Each phase but the last ends by itself:
 *
 *     lobby ─▶ question ─▶ reveal ─▶ question ─▶ … ─▶ reveal ─▶ over
 */
export type Phase =
  | { readonly name: "lobby"; readonly untilMs: number }
  | {
      readonly name: "question";
      readonly index: number;
      readonly fromMs: number;
      readonly untilMs: number;
      readonly answers: Answers;
    }
  | {
      readonly name: "reveal";
      readonly index: number;
      readonly untilMs: number;
      readonly answers: Answers;
      /** The points that each member won with this question. */
      readonly gains: ReadonlyMap<string, number>;
    }
  | { readonly name: "over"; readonly why: EndReason };

/** A game in a channel: one live message, from its lobby to its final board. */
export interface Game {
  /** Also the ref of its live message. */
  readonly id: string;
  readonly channel: string;
  readonly host: Member;
  readonly questions: readonly Question[];
  readonly secondsPerQuestion: number;
  readonly revealMs: number;
  /** By id, in the order in which they joined. */
  readonly players: ReadonlyMap<string, Player>;
  readonly phase: Phase;
  /** How many questions in a row nobody answered. */
  readonly unanswered: number;
  /** When the live message was last sent. */
  readonly shownAtMs: number;
  /** Whether the live message no longer shows all there is. */
  readonly isStale: boolean;
}

/** The players, best first. */
export function standings(game: Game): readonly Player[] {
  return [...game.players.values()].toSorted((a, b) => b.points - a.points);
}
