import { parseMessageText, toPlainText } from "../../../bridge/message-text";

/** Returns a message's text without markup and quote marks, to be read out or shortened. */
export function plainText(text: string): string {
  return toPlainText(parseMessageText(text)).replaceAll(/^(?:> )+/gm, "");
}
