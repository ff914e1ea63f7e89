/** Codes of clients: colors with their numbers, and switches of styles. */
// oxlint-disable-next-line no-control-regex
const CODES =
  /\u0003(?:\d{1,2}(?:,\d{1,2})?)?|\u0004(?:[0-9a-fA-F]{6}(?:,[0-9a-fA-F]{6})?)?|[\u0000-\u001F\u007F]/g;

/** Returns typed text without the codes for colors and styles. */
export function plainText(text: string): string {
  return text.replaceAll(CODES, "").trim();
}
