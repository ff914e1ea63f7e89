import { markdownBlocks } from "./markdown";
import { SLACK, styledBlocks, XMPP } from "./message-styling";
import { blocksOf, type MessageText } from "./parse-message-text";

/**
 * A chat's markup:
 * - `commonmark`: strict CommonMark; line breaks are hard breaks, i.e. a backslash before the newline.
 * - `gfm`: GitHub-flavoured Markdown in which a newline is a line break, e.g. for Mattermost and Discord.
 * - `slack`: Slack's mrkdwn. Because mrkdwn has no escapes, literal characters that would act as markup are replaced
 *   with lookalikes.
 * - `xmpp`: XMPP's message styling (XEP-0393). An invisible character (U+2060) before a literal character disables markup.
 */
export type MarkdownDialect = "commonmark" | "gfm" | "slack" | "xmpp";

/**
 * Renders text in a chat's markup, e.g. `toMarkdown(message.text, "slack")`. Literal text, such as an escaped name, is
 * escaped again by the rules of the dialect. A link whose scheme is not http, https or mailto is replaced by its label.
 * Where a dialect cannot express a style, e.g. in the middle of a word, the text is shown without the style.
 *
 * The result can still contain mentions and emoji names, which most chats detect in plain text. If your chat's API can
 * turn off mentions, do so.
 */
export function toMarkdown(text: MessageText, dialect: MarkdownDialect): string {
  const blocks = blocksOf(text);
  switch (dialect) {
    case "commonmark":
      return markdownBlocks(blocks, "\\\n");
    case "gfm":
      return markdownBlocks(blocks, "\n");
    case "slack":
      return styledBlocks(blocks, SLACK);
    case "xmpp":
      return styledBlocks(blocks, XMPP);
  }
}
