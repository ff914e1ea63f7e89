import type { Message } from "../shapes";

/**
 * The fields of a message's `data` that the page shows: see demo/game/README.md. The contract does not define `data`, so
 * a field of an unexpected type counts as missing. Messages of other games usually lack these fields, so the page shows
 * only their text, buttons and images.
 */
export interface GameData {
  readonly phase: string | undefined;
  /** Number of the question, from 1. */
  readonly question: number | undefined;
  readonly questions: number | undefined;
  /** End of the phase, ms since the epoch. */
  readonly endsAtMs: number | undefined;
  /** Seconds that a question stays open. */
  readonly seconds: number | undefined;
  /** The options of a question, in the order of its buttons. */
  readonly options: readonly string[] | undefined;
  /** The unit of the number that answers a question; "" for a number without a unit. */
  readonly unit: string | undefined;
  /** The index of the right option, or the right number. */
  readonly right: number | undefined;
  readonly results: readonly Result[];
  /** The best players, best first. */
  readonly board: readonly Score[];
  /** The member's answer, in the form of `Result.answer`; only in the data of a note. */
  readonly answer: number | undefined;
}

export interface Result {
  readonly user: string;
  /** The index of an option, or a number. */
  readonly answer: number;
  readonly points: number;
}

export interface Score {
  readonly user: string;
  readonly points: number;
}

export function readGameData({ data }: Pick<Message, "data">): GameData {
  const numberOf = (name: string) => (typeof data?.[name] === "number" ? data[name] : undefined);
  const textOf = (name: string) => (typeof data?.[name] === "string" ? data[name] : undefined);
  const listOf = (name: string): readonly unknown[] | undefined =>
    Array.isArray(data?.[name]) ? (data[name] as unknown[]) : undefined;
  const endsAtMs = Date.parse(textOf("endsAt") ?? "");
  return {
    phase: textOf("phase"),
    question: numberOf("question"),
    questions: numberOf("questions"),
    endsAtMs: Number.isNaN(endsAtMs) ? undefined : endsAtMs,
    seconds: numberOf("seconds"),
    options: listOf("options")?.map(String),
    unit: textOf("unit"),
    right: numberOf("right"),
    results: listOf("results")?.filter(isResult) ?? [],
    board: listOf("board")?.filter(isScore) ?? [],
    answer: numberOf("answer"),
  };
}

function isScore(value: unknown): value is Score {
  const { user, points } = (value ?? {}) as Partial<Record<string, unknown>>;
  return typeof user === "string" && typeof points === "number";
}

function isResult(value: unknown): value is Result {
  const { user, answer, points } = (value ?? {}) as Partial<Record<string, unknown>>;
  return typeof user === "string" && typeof answer === "number" && typeof points === "number";
}

/** Returns whether a note belongs to the phase that its message shows. A note without a phase belongs to every phase. */
export function isCurrent(note: GameData, shown: GameData): boolean {
  return note.phase === undefined || (note.phase === shown.phase && note.question === shown.question);
}

/** Returns the letter of an option: A for 0. */
export function letterOf(option: number): string {
  return String.fromCodePoint("A".charCodeAt(0) + option);
}
