import type { Part } from "../text/message-parts";
import { packLines } from "./pack-lines";

export interface LineLimits {
  /** Maximum number of lines. */
  readonly maxLines: number;
  /** Maximum bytes of a line; see `LineRoom`. */
  readonly maxBytes: number;
}

/**
 * Returns the lines to send for some parts of a message. If there are more than `maxLines`, leaves out the last lines,
 * and adds a line with the number of omitted lines. Choices are the last line, and are never left out.
 */
export function printLines(parts: readonly Part[], { maxLines, maxBytes }: LineLimits): readonly string[] {
  const pack = (wanted: (part: Part) => boolean): readonly string[] =>
    packLines(parts.filter(wanted), maxBytes);
  const lines = pack(({ type }) => type !== "choices");
  const choices = pack(({ type }) => type === "choices");
  const room = Math.max(1, maxLines - choices.length);
  if (lines.length <= room) return [...lines, ...choices];
  const left = lines.length - (room - 1);
  return [...lines.slice(0, room - 1), `… (${left} more lines)`, ...choices];
}
