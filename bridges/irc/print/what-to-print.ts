import { createHash } from "node:crypto";
import type { Message } from "chat-bridge-kit";
import type { Part } from "../text/message-parts";
import { choicesOf } from "../text/choices-line";

/** The parts of a message that the chat has printed. Texts are kept as digests, so that the state stays small. */
export interface Printed {
  readonly kind: string;
  /** Digests of the printed parts. */
  readonly parts: readonly string[];
  /** Digest of the choices. */
  readonly choices: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** The decision on an update: print these parts now, print nothing, or wait. */
export type Decision =
  | { readonly type: "print"; readonly parts: readonly Part[] }
  | { readonly type: "nothing" }
  | { readonly type: "wait"; readonly ms: number };

/** Kinds of messages that start a phase of a game, and whose changes are printed immediately. */
const PHASES = new Set(["question", "gotcha_bait", "gotcha_reveal", "time_up", "game_end"]);
/**
 * Kinds of messages whose updates are printed as a whole, because members also need the parts that have not changed.
 */
const WHOLE = new Set(["question", "gotcha_bait", "answer_update", "game_start"]);

interface Update {
  readonly message: Message;
  /** All parts of the message. */
  readonly parts: readonly Part[];
  /** The parts of the message that were printed before; undefined if nothing was printed. */
  readonly before: Printed | undefined;
  readonly nowMs: number;
  /** Minimum milliseconds between two prints of a message that does not start a phase. */
  readonly gapMs: number;
}

/**
 * Returns the decision on an update. Without this function, the bridge would print the whole message again for every
 * answer, because IRC cannot edit messages. Leaves out parts that were printed before, except choices, and except the
 * parts of messages whose kind is in `WHOLE`.
 */
export function whatToPrint({ message, parts, before, nowMs, gapMs }: Update): Decision {
  if (before === undefined) return { type: "print", parts };
  const known = new Set(before.parts);
  const isNew = (part: Part): boolean => !known.has(digestOf(part));
  const fresh = parts.filter(isNew);
  if (fresh.length === 0) return { type: "nothing" };

  const hasSameChoices = choicesDigest(message) === before.choices;
  if (hasSameChoices && isTally(message, parts, isNew)) return { type: "nothing" };
  const due = before.atMs + gapMs - nowMs;
  const isNow = PHASES.has(message.kind) || WHOLE.has(message.kind) || !hasSameChoices;
  if (!isNow && due > 0) return { type: "wait", ms: Math.min(due, gapMs) };
  // The choices are repeated, because another message may have been printed since.
  const changed = parts.filter((part) => isNew(part) || part.type === "choices");
  return { type: "print", parts: WHOLE.has(message.kind) ? parts : changed };
}

/** Returns whether members can answer a message: it has choices, or waits for text. */
export function isOpen({ buttons, awaitsReply }: Message): boolean {
  return awaitsReply || choicesOf(buttons).length > 0;
}

/** Returns whether a message must reach the members within seconds, because they can answer it or a phase starts. */
export function isUrgent(message: Message): boolean {
  return isOpen(message) || PHASES.has(message.kind);
}

/** Returns whether a message announces a result, which members must see even if the next phase has started. */
export function isResult(message: Message): boolean {
  return PHASES.has(message.kind) && !isOpen(message);
}

/** Returns whether an update only changes the count of answers or the list of joined members. */
function isTally({ kind }: Message, parts: readonly Part[], isNew: (part: Part) => boolean): boolean {
  if (kind === "game_start") return true;
  if (kind !== "answer_update") return false;
  if (parts.some(({ type }) => type === "choices")) return true;
  // A question without choices is new if its longest part is new, or if several parts are new.
  const longest = parts.toSorted((a, b) => lengthOf(b) - lengthOf(a))[0];
  return parts.filter(isNew).length <= 1 && (longest === undefined || !isNew(longest));
}

function lengthOf({ lines }: Part): number {
  return lines.join("").length;
}

/**
 * Returns the printed state of a message. `parts` must contain all parts of the message, because parts that were left
 * out have been printed before.
 */
export function printedOf(message: Message, parts: readonly Part[], atMs: number): Printed {
  return { kind: message.kind, parts: parts.map(digestOf), choices: choicesDigest(message), atMs };
}

function digestOf({ type, lines }: Part): string {
  return digest([type, ...lines]);
}

/** Returns the digest of everything that an answer to a message depends on. */
export function choicesDigest({ buttons, awaitsReply }: Message): string {
  return digest([String(awaitsReply), ...choicesOf(buttons).flatMap(({ label, action }) => [label, action])]);
}

function digest(texts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(texts)).digest("base64url").slice(0, 12);
}
