import type { Part } from "../text/message-parts";
import { splitLine } from "../text/split-line";
import { BOLD, ITALIC } from "../text/styled-lines";

/**
 * Maximum bytes of a line that is joined from several parts: about six rows of a window with 60 columns. The items of a
 * list can fill a whole line.
 */
const JOINED_MAX_BYTES = 300;
/**
 * Maximum bytes of a line of a list, e.g. a board, whose lines can be joined. The lines of other lists stay separate.
 */
const ITEM_MAX_BYTES = 48;
/** Separators of joined lines. A message uses the first separator that its lines do not contain. */
const SEPARATORS = [" · ", " | ", " — "];
const SENTENCE_END = /[.!?…:]$/u;
/**
 * The mark before an item of a list, e.g. of a board. After a sentence and a space, a dash would look like part of the
 * sentence.
 */
const ITEM_MARK = /^(?:[-–—•*]|\p{Emoji_Presentation})/u;

/**
 * Returns the lines of some parts of a message. Each line has at most `maxBytes` bytes. A chat limits the number of
 * lines per second, so short lines are joined, e.g. a header and a question, an answer and its points, or the places of
 * a board.
 *
 * @param maxBytes at least 16
 */
export function packLines(parts: readonly Part[], maxBytes: number): readonly string[] {
  const joinedMax = Math.min(maxBytes, JOINED_MAX_BYTES);
  const isUsed = (each: string): boolean =>
    parts.some(({ lines }) => lines.some((line) => line.includes(each)));
  const separator = SEPARATORS.find((each) => !isUsed(each)) ?? SEPARATORS[0];
  const packed: string[] = [];
  /** The last line of `packed`, if further text can be appended to it. */
  let open: { readonly isQuote: boolean } | undefined;

  for (const part of parts) {
    const isQuote = part.shape === "quote";
    if (!canJoin(part)) {
      packed.push(...part.lines);
      open = undefined;
      continue;
    }
    for (const [i, line] of part.lines.entries()) {
      const before = packed.at(-1) ?? "";
      const joined = `${before}${between(before, line)}${line}`;
      if (open !== undefined && Buffer.byteLength(joined) <= (i === 0 ? joinedMax : maxBytes))
        packed[packed.length - 1] = joined;
      else packed.push(line);
      open = { isQuote };
    }
  }
  return packed.flatMap((line) => splitLine(line, maxBytes));

  function between(before: string, line: string): string | undefined {
    // The mark ">" shows where a quote begins, but a separator must show where it ends.
    if (line.startsWith("> ")) return " ";
    const followsSentence = SENTENCE_END.test(withoutCodes(before)) && !ITEM_MARK.test(withoutCodes(line));
    return followsSentence && !open?.isQuote ? " " : separator;
  }
}

/** Returns whether the lines of a part can share a line with each other and with other parts. */
function canJoin({ shape, lines }: Part): boolean {
  if (shape === "drawing") return false;
  return (
    lines.length === 1 ||
    (shape === "text" && lines.every((line) => Buffer.byteLength(line) <= ITEM_MAX_BYTES))
  );
}

function withoutCodes(line: string): string {
  return line.replaceAll(BOLD, "").replaceAll(ITALIC, "");
}
