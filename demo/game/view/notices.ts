import type { Answer, Question } from "../rules/game-state";
import type { MessageContent } from "../rules/output";
import { card } from "./content";
import { plain } from "./plain";

/** Messages that only one member sees. */
const NOTICES = {
  joined: "You are in. The first question comes when the game starts.",
  "already-in": "You have already joined.",
  full: "This game is full. The next one is yours.",
  "has-begun": "The game has already started. Answer a question to join it.",
  "join-first": "Join the game first, then start it.",
  "too-late": "Too late: the time is up.",
  "not-a-number": "That is not a number. Answer with a number, e.g. 42.",
  "game-is-over": "That game is over. Send the command with `start` to open another.",
  "game-is-on": "A game is already running in this channel.",
  "no-game": "No game is running in this channel. Send the command with `start` to open one.",
  "only-host": "Only the member who opened the game can stop it.",
  "too-many-games": "Too many games are running. Try again later.",
} as const;

export type Notice = keyof typeof NOTICES;

export function notice(name: Notice): MessageContent {
  return card(NOTICES[name]);
}

/** Confirms the answer that counts. */
export function receipt(
  what: "locked-in" | "already-answered",
  question: Question,
  { value }: Answer,
): MessageContent {
  const before = what === "locked-in" ? "Locked in" : "You have already answered";
  return card(`${before}: **${nameOfAnswer(question, value)}**`);
}

/** Returns an answer in words, as Markdown. */
export function nameOfAnswer(question: Question, value: number): string {
  if (question.kind === "number") return plain(`${formatNumber(value)} ${question.unit}`);
  return plain(`${letter(value)} · ${question.options[value] ?? ""}`);
}

/** Returns the letter of an option: A for 0. */
export function letter(option: number): string {
  return String.fromCodePoint("A".charCodeAt(0) + option);
}

/** Formats a number with up to 6 decimals. Only 10,000 and more get separators, because years have none. */
function formatNumber(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 6, useGrouping: Math.abs(value) >= 10_000 });
}
