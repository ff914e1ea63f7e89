/** Keeps words in one row of a client's window. */
export const NO_BREAK_SPACE = "\u00A0";
const COLOR = "\u0003";
const HEX_COLOR = "\u0004";
/** The formatting codes of IRC clients: colors with their numbers, and control characters that switch styles. */
const CODES = new RegExp(
  `${COLOR}(?:\\d{1,2}(?:,\\d{1,2})?)?|${HEX_COLOR}(?:[0-9a-fA-F]{6}(?:,[0-9a-fA-F]{6})?)?|\\p{Cc}`,
  "gu",
);

/** Returns typed text without the codes for colors and styles. Copied text can contain no-break spaces of the bridge. */
export function plainText(text: string): string {
  return text.replaceAll(CODES, "").replaceAll(NO_BREAK_SPACE, " ").trim();
}
