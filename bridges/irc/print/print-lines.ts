import type { Part } from "../text/message-parts";
import { splitLine } from "../text/split-line";

/**
 * Maximum bytes of the text of a line. A line of the protocol has at most 512 bytes. The line contains the sender's
 * nick (30), user name (11) and host (63), the command, the target (64) and separators.
 */
export const TEXT_MAX_BYTES = 512 - 190;

/**
 * Returns the lines to send for some parts of a message. If there are more than `maxLines`, returns fewer lines, and
 * then a line with the number of missing lines. Choices are never left out.
 */
export function printLines(parts: readonly Part[], maxLines: number): readonly string[] {
  const split = (wanted: (part: Part) => boolean): readonly string[] =>
    parts
      .filter(wanted)
      .flatMap(({ lines }) => lines)
      .flatMap((line) => splitLine(line, TEXT_MAX_BYTES));
  const lines = split(({ type }) => type !== "choices");
  const choices = split(({ type }) => type === "choices");
  const room = Math.max(1, maxLines - choices.length);
  if (lines.length <= room) return [...lines, ...choices];
  const left = lines.length - (room - 1);
  return [...lines.slice(0, room - 1), `… (${left} more lines)`, ...choices];
}
