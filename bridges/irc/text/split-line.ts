import { BOLD, ITALIC } from "./styled-lines";

const CODES = new Set([BOLD, ITALIC]);

/**
 * Splits a line into parts of at most `maxBytes` bytes of UTF-8, at spaces where possible, and never within a code
 * point. A style that is on at the end of a part is switched on again in the next part.
 *
 * @param maxBytes at least 16
 */
export function splitLine(line: string, maxBytes: number): readonly string[] {
  const parts: string[] = [];
  let part = "";
  /** Index in `part` just after the last space; 0 if there is no space. */
  let afterSpace = 0;
  let bytes = 0;

  function close(end: number): void {
    const whole = part.slice(0, end).trimEnd();
    const rest = part.slice(end);
    if (textOf(whole) !== "") parts.push(whole);
    part = `${stylesAtEndOf(part.slice(0, end))}${rest}`;
    bytes = Buffer.byteLength(part);
    afterSpace = 0;
  }

  for (const character of line) {
    const size = Buffer.byteLength(character);
    while (bytes + size > maxBytes) {
      close(character !== " " && afterSpace > 0 ? afterSpace : part.length);
    }
    // Only the first part keeps its leading spaces, because they can be the indent of a drawing.
    if (character === " " && parts.length > 0 && textOf(part) === "") continue;
    part += character;
    bytes += size;
    if (character === " ") afterSpace = part.length;
  }
  if (textOf(part).trim() !== "") parts.push(part.trimEnd());
  return parts;
}

/** Returns a part without codes. */
function textOf(part: string): string {
  return [...part].filter((character) => !CODES.has(character)).join("");
}

/** Returns the codes of the styles that are on at the end of a text. */
function stylesAtEndOf(text: string): string {
  const on = new Set<string>();
  for (const character of text) {
    if (!CODES.has(character)) continue;
    if (!on.delete(character)) on.add(character);
  }
  return [...on].join("");
}
