import type { Message } from "chat-bridge-kit";
import { choicesOf } from "./choices";

/** Kinds of messages that can be a new question. The choices of other messages can change without a new question. */
const ROUNDS = new Set([
  "question",
  "gotcha_bait",
  "time_up",
  "gotcha_reveal",
  "game_end",
  // The first state of a question that the bridge sees can already contain a count of answers.
  "answer_update",
]);

/** Returns whether members can answer a message: with a choice, or in words. */
export function asks(message: Pick<Message, "buttons" | "awaitsReply">): boolean {
  return message.awaitsReply || choicesOf(message).length > 0;
}

/**
 * Returns whether an update asks a different question from the one that the message asked before. A question counts as
 * different if its choices differ. Two questions without choices differ only if the game closed the first one, e.g. by
 * showing its answer.
 */
export function isNewQuestion(before: Message, after: Message): boolean {
  return ROUNDS.has(after.kind) && asks(after) && answersOf(before) !== answersOf(after);
}

/** Returns a message without its image, and without anything that asks members for an answer. */
export function closed(message: Message): Message {
  return { ...message, buttons: [], image: null, awaitsReply: false };
}

function answersOf(message: Message): string {
  const choices = choicesOf(message).map(({ label, action }) => [label, action]);
  return JSON.stringify([message.awaitsReply, choices]);
}
