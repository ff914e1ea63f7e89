import type { Answer, Question } from "../rules/game-state";
import type { MessageContent } from "../rules/output";
import { card } from "./content";
import { plain } from "./plain";

/** What one member is told, for nobody else to see. */
const NOTICES = {
  joined: "You are in. The first question comes when the game starts.",
  "already-in": "You are in already.",
  full: "This game is full. The next one is yours.",
  "has-begun": "The game has started already. Just answer, and you play.",
  "join-first": "Join the game first, then start it.",
  "too-late": "Too late: the time was up.",
  "not-a-number": "That is no number. Answer with one, such as 42.",
  "game-is-over": "That game is over. The command with `start` begins another.",
  "game-is-on": "A game is on in this channel already.",
  "no-game": "No game is on in this channel. The command with `start` begins one.",
  "only-host": "Only whoever opened the game can stop it.",
  "too-many-games": "So many games are on that there is no room for another. Try again in a while.",
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

/** An answer in words, as Markdown. */
export function nameOfAnswer(question: Question, value: number): string {
  if (question.kind === "number") return plain(`${formatNumber(value)} ${question.unit}`);
  return plain(`${letter(value)} · ${question.options[value] ?? ""}`);
}

/** The letter of an option, by which people call it. */
export function letter(option: number): string {
  return String.fromCodePoint("A".charCodeAt(0) + option);
}

/** With as many digits as it has, and no separators that would read as years do not. */
function formatNumber(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 6, useGrouping: Math.abs(value) >= 10_000 });
}
