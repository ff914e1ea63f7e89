const COLOR = "\u0003";
const HEX_COLOR = "\u0004";
/** The formatting codes of IRC clients: colors with their numbers, and control characters that switch styles. */
const CODES = new RegExp(
  `${COLOR}(?:\\d{1,2}(?:,\\d{1,2})?)?|${HEX_COLOR}(?:[0-9a-fA-F]{6}(?:,[0-9a-fA-F]{6})?)?|\\p{Cc}`,
  "gu",
);

/** Returns typed text without the codes for colors and styles. */
export function plainText(text: string): string {
  return text.replaceAll(CODES, "").trim();
}
