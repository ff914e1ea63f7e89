import * as fc from "fast-check";
import { parseMessageText } from "../../message-text";
import { escapeText } from "../../message-text-escape";
import { toMarkdown } from "../../render";
import { forMany } from "../../../test/harness/for-all";
import { ANY_LINK, ANY_TEXT, MESSAGE_TEXT } from "../harness/any-text";
import { shownBlocks } from "../harness/shown-text";

type Span = readonly [text: string, delimiters: string];

/** The rules by which a client finds the styles of a line. */
interface Client {
  /** Matches the character before an opening delimiter, or "" at the start of a line. */
  readonly opensAfter: RegExp;
  /**
   * Like `opensAfter`, but for the text after a closed style, because a style cannot open directly after another one.
   */
  readonly opensLaterAfter: RegExp;
  /** Matches the character after a closing delimiter, or "" at the end of a line. */
  readonly closesBefore: RegExp;
  /** Matches a line with a quote, code or a mention. */
  readonly others: RegExp;
  /** Returns the unescaped form of escaped text. */
  readonly decode: (text: string) => string;
}

/**
 * Characters that escaping puts in place of a delimiter. The tests skip texts that already contain such a character,
 * because it would look like an escaped delimiter.
 */
const REPLACEMENT = /[\u2217\u02CD\u223C\u02CB]/;

/** XEP-0393, "Spans". */
const XMPP: Client = {
  opensAfter: /^\s?$/,
  opensLaterAfter: /^\s$/,
  closesBefore: /^/,
  others: /^(?:>|```)/,
  decode: (text) => text,
};

const CHARACTERS: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&amp;": "&",
  "\u2217": "*",
  "\u02CD": "_",
  "\u223C": "~",
  "\u02CB": "`",
};

const SLACK: Client = {
  opensAfter: /^[^\p{L}\p{N}]?$/u,
  opensLaterAfter: /^[^\p{L}\p{N}]$/u,
  closesBefore: /^[^\p{L}\p{N}]?$/u,
  others: /^(?:&gt;|\uFF1E|```)|[<>]/,
  decode: (text) =>
    text.replaceAll(/&(?:lt|gt|amp);|[\u2217\u02CD\u223C\u02CB]/g, (escape) => CHARACTERS[escape] ?? ""),
};

/** Returns the spans of a line as a client shows them. */
function spansOf(line: string, client: Client, style = ""): readonly Span[] {
  for (let start = 0; start < line.length; start++) {
    const delimiter = line[start] ?? "";
    const canOpen = client.opensAfter.test(line[start - 1] ?? "") && /^\S/.test(line[start + 1] ?? "");
    if (!"*_~`".includes(delimiter) || !canOpen) continue;
    for (let end = line.indexOf(delimiter, start + 2); end > 0; end = line.indexOf(delimiter, end + 1)) {
      if (/\s/.test(line[end - 1] ?? "") || !client.closesBefore.test(line[end + 1] ?? "")) continue;
      const content = line.slice(start + 1, end);
      return [
        ...spansOf(line.slice(0, start), client, style),
        ...(delimiter === "`"
          ? [[content, `${style}\``] as const]
          : spansOf(content, client, style + delimiter)),
        ...spansOf(line.slice(end + 1), { ...client, opensAfter: client.opensLaterAfter }, style),
      ];
    }
  }
  return line === "" ? [] : [[line, style]];
}

const DIALECTS = [
  ["xmpp", XMPP],
  ["slack", SLACK],
] as const;

/** Returns the visible characters of each line. */
function visible(lines: readonly (readonly Span[])[]): readonly string[] {
  const texts = lines.map((line) => line.map(([text]) => text).join(""));
  return texts.map((text) => text.replaceAll(/[\s\u2060\u00AD]/g, "")).filter((text) => text !== "");
}

/** Returns the visible characters that have the given style. */
const styled = (lines: readonly (readonly Span[])[], style: string) =>
  visible([lines.flat().filter(([, styles]) => styles.includes(style))]).join("");

test.each(DIALECTS)(
  "in the dialect %s, a client shows no delimiters, and no styles that the text does not have",
  (dialect, client) => {
    forMany(1000, MESSAGE_TEXT, (text) => {
      fc.pre(!/[>`~]|https:|mailto:/.test(text) && !REPLACEMENT.test(text));
      const wanted = shownBlocks(parseMessageText(text)).filter((line) => typeof line !== "string");
      const lines = toMarkdown(text, dialect).split("\n");
      const seen = lines.map((line) =>
        spansOf(line, client).map(([span, delimiters]): Span => [client.decode(span), delimiters]),
      );
      expect(visible(seen)).toEqual(visible(wanted));
      expect(isWithin(styled(seen, "*"), styled(wanted, "bold"))).toBe(true);
      expect(isWithin(styled(seen, "_"), styled(wanted, "italic"))).toBe(true);
    });
  },
);

/** Whether `whole` contains the characters of `part` in the same order. */
function isWithin(part: string, whole: string): boolean {
  const left = [...part];
  for (const character of whole) if (character === left[0]) left.shift();
  return left.length === 0;
}

test.each(DIALECTS)("an escaped text stays literal in the dialect %s", (dialect, client) => {
  forMany(1000, ANY_TEXT, (text) => {
    fc.pre(!REPLACEMENT.test(text));
    const escaped = escapeText(text);
    const lines = toMarkdown(escaped, dialect).split("\n");
    for (const line of lines) {
      expect(line).not.toMatch(client.others);
      expect(spansOf(line, client)).toEqual(line === "" ? [] : [[line, ""]]);
    }
    const wanted = shownBlocks(parseMessageText(escaped)).filter((line) => typeof line !== "string");
    expect(visible(lines.map((line) => [[client.decode(line), ""]]))).toEqual(visible(wanted));
  });
});

test("only links to web pages and emails are links in Slack's markup", () => {
  forMany(1000, ANY_LINK, (url) => {
    const link = { type: "link", url, children: [{ type: "text", text: "a" }] } as const;
    const markup = toMarkdown([{ type: "paragraph", children: [link] }], "slack");
    expect(markup).toMatch(/^(?:a|<(?:https?:\/\/|mailto:)[^<>|]+\|a>)$/i);
  });
});

test.each([
  ["styles", "**a** *b* ***c*** `d`", "*a* _b_ *_c_* `d`", "*a* _b_ *_c_* `d`"],
  ["a style over several lines", "**a\nb**", "*a*\n*b*", "*a*\n*b*"],
  ["a style after punctuation", "(**a**)", "(*a*)", "(a)"],
  ["styles with only punctuation between them", "*a*-*b*", "_a_-_b_", "_a_-b"],
  ["a style within a word", "a**b**c", "abc", "abc"],
  ["a style with its own delimiter", "**a*b**", "a*b", "a*b"],
  ["delimiters as text", "\\*a\\* 2 * 3 b_c", "\u2217a\u2217 2 * 3 b_c", "\u2060*a* 2 \u2060* 3 b_c"],
  [
    "a link",
    "[a *b*](https://c.example/?d&e)",
    "<https://c.example/?d&amp;e|a b>",
    "a b (https://c.example/?d&e)",
  ],
  ["a bold link", "**[a](https://c.example)**", "*<https://c.example|a>*", "*a (https://c.example)*"],
  [
    "a link in angle brackets",
    "<https://c.example>",
    "<https://c.example|https://c.example>",
    "https://c.example",
  ],
  ["a label with a line break", "[a\nb](mailto:c)", "<mailto:c|a b>", "a b (mailto:c)"],
  ["a relative link", "[a](/b)", "a", "a"],
  ["a quote", "> a\n> **b**", "> a\n> *b*", "> a\n> *b*"],
  ["an angle bracket as text", "\\> a > b", "\u00AD&gt; a &gt; b", "\u2060> a > b"],
  ["code", "```ts\na < b\n```", "```\na &lt; b\n```", "```\na < b\n```"],
  ["code with a fence", "````\n```\n````", "```\n\u02CB\u02CB\u02CB\n```", "```\n\u2060```\n```"],
  ["code with a backtick", "``a`b``", "a\u02CBb", "a`b"],
  ["mentions and HTML", "<!here> <b>&", "&lt;!here&gt; &lt;b&gt;&amp;", "<!here> <b>&"],
])("Slack's and XMPP's markup: %s", (_, text, slack, xmpp) => {
  expect(toMarkdown(text, "slack")).toBe(slack);
  expect(toMarkdown(text, "xmpp")).toBe(xmpp);
});
