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

/**
 * Returns the printed state of a message. `parts` must be all parts of the message, because parts that were left out
 * have been printed before.
 */
export function printedOf(message: Message, parts: readonly Part[], atMs: number): Printed {
  return { kind: message.kind, parts: parts.map(digestOf), choices: choicesDigest(message), atMs };
}

export function digestOf({ type, lines }: Part): string {
  return digest([type, ...lines]);
}

/** Returns the digest of everything that an answer to a message depends on. */
export function choicesDigest({ buttons, awaitsReply }: Message): string {
  return digest([String(awaitsReply), ...choicesOf(buttons).flatMap(({ label, action }) => [label, action])]);
}

function digest(texts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(texts)).digest("base64url").slice(0, 12);
}
