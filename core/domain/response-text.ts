import type { ResponseStart } from "./delivery";

/** Control characters, except tabs and line feeds. */
const CONTROL = /(?![\t\n])\p{Cc}/gu;
const REPLACEMENT = "\ufffd";

/**
 * Returns the start of a body as text. Bytes that are not UTF-8, and control characters except tabs and line breaks,
 * become U+FFFD. A character that was cut off at the end of a truncated body is omitted.
 */
export function responseText({ bytes, isTruncated }: ResponseStart): string {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: isTruncated });
  return text.replaceAll("\r\n", "\n").replace(CONTROL, REPLACEMENT);
}
