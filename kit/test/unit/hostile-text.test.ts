import { parseMessageText, toPlainText } from "../../message-text";
import { toHtml, toMarkdown } from "../../render";

/** Length of the texts in these tests. An event has at most 64 KiB, so the text of a real event is shorter. */
const LENGTH = 64 * 1024;

test.each([
  ["nested styles", "*a **b ", " c** d*"],
  ["nested delimiters", "*_", "_*"],
  ["nested quotes", "> ", ""],
  ["nested brackets", "[", "](https://a.example)"],
  ["many styles", "*a* ", ""],
  ["many lines", "a\n**b**\n", ""],
  ["many backslashes and newlines", "\\\n", ""],
  ["backticks", "`", ""],
  ["unfinished delimiters", "** ", ""],
])("text of the maximum length is rendered in all formats: %s", (_, before, after) => {
  const count = Math.floor((LENGTH - 4) / (before.length + after.length));
  const text = `M\n\n${before.repeat(count)}x${after.repeat(count)}`;
  const tree = parseMessageText(text);
  for (const dialect of ["commonmark", "gfm", "slack", "xmpp"] as const) {
    expect(toMarkdown(tree, dialect)).toContain("M");
  }
  expect(toHtml(tree)).toContain("M");
  expect(toPlainText(tree)).toContain("M");
});
