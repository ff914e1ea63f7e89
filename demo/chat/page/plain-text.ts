import { parseMessageText, toPlainText } from "../../../bridge/message-text";

/** A text to be read out or cut short: without markup, and without the marks of quotes. */
export function plainText(text: string): string {
  return toPlainText(parseMessageText(text)).replaceAll(/^(?:> )+/gm, "");
}
