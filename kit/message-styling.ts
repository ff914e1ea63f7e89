import { renderBlocks, type Block, type Inline } from "./message-tree";
import { plainLine, plainLink } from "./plain-text";
import { styledRuns, type Run } from "./styled-runs";

/** A chat's markup language that has no escapes, and in which a style cannot continue on the next line. */
export interface Styling {
  /**
   * Matches the text before an element if a style can begin after this text. At the start of a line, this text is
   * empty.
   */
  readonly opensAfter: RegExp;
  /** Invisible character that disables a quote mark at the start of a line. */
  readonly guard: string;
  /** Returns markup that the chat shows as `text`. */
  readonly escape: (text: string) => string;
  /**
   * Returns markup that the chat shows as `code` when it is between the delimiters of code. Inline code has no
   * backtick.
   */
  readonly escapeCode: (code: string) => string;
  readonly link: (label: string, url: string) => string;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const slackEntities = (text: string) => text.replaceAll(/[&<>]/g, (character) => ENTITIES[character] ?? "");

const LOOKALIKES: Readonly<Record<string, string>> = {
  "*": "\u2217", // asterisk operator
  _: "\u02CD", // modifier letter low macron
  "~": "\u223C", // tilde operator
  "`": "\u02CB", // modifier letter grave accent
};
const lookalike = (character: string) => LOOKALIKES[character] ?? character;

const slackEscape = (text: string) =>
  // Between two letters or digits, and between two spaces, only the backtick is markup.
  slackEntities(text.replaceAll(/(?<![\p{L}\p{N}])[*_~](?!\s)|(?<!\s)[*_~](?![\p{L}\p{N}])|`/gu, lookalike));

/** Slack's mrkdwn. */
export const SLACK: Styling = {
  opensAfter: /(?:^|[^\p{L}\p{N}*_~`])$/u,
  guard: "\u00AD",
  escape: slackEscape,
  escapeCode: (code) => slackEntities(code.replaceAll("```", lookalike("`").repeat(3))),
  link: (label, url) => `<${slackEntities(url).replaceAll("|", "%7C")}|${slackEscape(label)}>`,
};

const xmppEscape = (text: string) => text.replaceAll(/(?<=^|\s)[*_~`]/g, "\u2060$&");

/** XMPP's message styling (XEP-0393), in which a style begins only at the start of a line or after white space. */
export const XMPP: Styling = {
  opensAfter: /(?:^|\s)$/,
  guard: "\u2060",
  escape: xmppEscape,
  escapeCode: (code) => code.replaceAll(/^```/gm, "\u2060$&"),
  link: (label, url) => plainLink(xmppEscape(label), url),
};

/** Renders blocks in a chat's markup. */
export function styledBlocks(blocks: readonly Block[], styling: Styling): string {
  return renderBlocks(blocks, {
    paragraph: (inlines) =>
      linesOf(inlines)
        .map((line) => styledLine(line, styling))
        .join("\n"),
    codeBlock: ({ text }) => `\`\`\`\n${styling.escapeCode(text)}\n\`\`\``,
  });
}

function linesOf(inlines: readonly Inline[]): readonly (readonly Run[])[] {
  const lines: Run[][] = [[]];
  for (const run of styledRuns(inlines)) {
    if (run.inline.type === "break") lines.push([]);
    else lines.at(-1)?.push(run);
  }
  return lines;
}

function styledLine(runs: readonly Run[], styling: Styling): string {
  let line = "";
  for (const [index, run] of runs.entries()) {
    const next = runs[index + 1]?.inline;
    const after = next?.type === "text" ? styling.escape(next.text.slice(0, 2)) : "";
    line += styledRun(run, line.slice(-2), after, styling);
  }
  return line.replace(/^(?:>|&gt;|\uFF1E)/, `${styling.guard}$&`);
}

/** Renders an element, given the text before it and the text after it. */
function styledRun(
  { inline, isBold, isItalic }: Run,
  before: string,
  after: string,
  styling: Styling,
): string {
  if (inline.type === "break") return "";
  const isLink = inline.type === "link";
  const raw = isLink ? styling.link(oneLine(inline.children), inline.url) : inline.text;
  const escape = isLink ? (link: string) => link : styling.escape;
  // A style cannot begin or end with white space, or end within a word.
  const text = raw.trim();
  const start = raw.slice(0, raw.indexOf(text));
  const end = raw.slice(start.length + text.length);
  if (text === "" || !styling.opensAfter.test(before + start) || /^[\p{L}\p{N}]/u.test(end + after)) {
    return escape(raw);
  }
  const isCode = inline.type === "inline-code" && !text.includes("`");
  const content = isCode ? `\`${styling.escapeCode(text)}\`` : escape(text);
  const wanted = [...(isBold ? ["*"] : []), ...(isItalic ? ["_"] : [])];
  const delimiters = wanted.filter((delimiter) => !content.includes(delimiter));
  return start + delimiters.join("") + content + delimiters.toReversed().join("") + end;
}

const oneLine = (inlines: readonly Inline[]) => plainLine(inlines).replaceAll(/\s+/g, " ");
