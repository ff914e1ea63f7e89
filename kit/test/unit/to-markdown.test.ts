import { parseMessageText, type Block } from "../../message-text";
import { escapeLine, escapeText } from "../../message-text-escape";
import { toMarkdown } from "../../render";
import { forMany } from "../../../test/harness/for-all";
import { ANY_LINK, ANY_TEXT, MESSAGE_TEXT } from "../harness/any-text";
import { GFM, shownBlocks, shownTokens, STRICT } from "../harness/shown-text";

const PARSERS = [
  ["commonmark", "the kit's parser", (text: string) => shownBlocks(parseMessageText(text))],
  ["commonmark", "a strict parser", (text: string) => shownTokens(STRICT.parse(text, {}))],
  ["gfm", "a parser of GitHub-flavoured Markdown", (text: string) => shownTokens(GFM.parse(text, {}))],
] as const;

test.each(PARSERS)("text in the dialect %s has the same styles in %s", (dialect, _, shown) => {
  forMany(1000, MESSAGE_TEXT, (text) => {
    expect(shown(toMarkdown(text, dialect))).toEqual(shownBlocks(parseMessageText(text)));
  });
});

test.each(PARSERS)(
  "an escaped name and question stay literal in the dialect %s in %s",
  (dialect, _, shown) => {
    forMany(1000, ANY_TEXT, ANY_TEXT, (name, question) => {
      const text = `> **x${escapeLine(name)}x** asks x${escapeText(question)}`;
      const blocks = shownBlocks(parseMessageText(text));
      for (const line of blocks) {
        if (typeof line !== "string")
          expect(["", "bold"]).toEqual(expect.arrayContaining(line.map(([, style]) => style)));
      }
      expect(shown(toMarkdown(text, dialect))).toEqual(blocks);
    });
  },
);

test.each(PARSERS)(
  "only links to web pages and emails are links in the dialect %s in %s",
  (dialect, _, shown) => {
    forMany(1000, ANY_LINK, ANY_TEXT, (url, label) => {
      const children = [{ type: "text", text: `x${label.replaceAll(/\s/g, " ")}x` }] as const;
      const blocks: Block[] = [{ type: "paragraph", children: [{ type: "link", url, children }] }];
      const lines = shown(toMarkdown(blocks, dialect));
      const styles = lines.flatMap((line) =>
        typeof line === "string" ? [line] : line.map(([, style]) => style),
      );
      for (const style of styles) expect(style).toMatch(/^(?:https?:\/\/|mailto:|$)/i);
    });
  },
);

test.each([
  ["styles", "*a* __b__ ***c*** d*e*f", "_a_ **b** **_c_** d*e*f"],
  ["a style within a word that Markdown cannot express", "a[**.**](/x)b", "a\\.b"],
  ["inline code with backticks", "`` `a` ``", "`` `a` ``"],
  ["a link", "[a](https://a.example/(b)?c=1&amp;d)", "[a](https://a.example/\\(b\\)?c=1&d)"],
  ["a link without a label", "[](https://a.example)", "<https://a.example>"],
  ["a link that chats cannot open", "[a](/b) [c](ftp://d)", "a c"],
  ["a quote and code", "> a\n>\n> ```ts\n> b\n> ```", "> a\n> \n> ```ts\n> b\n> ```"],
  ["code with a fence", "~~~\n```\n~~~", "````\n```\n````"],
  ["characters that are not markup", "# a\n1. <b> & \\*c\\*", "\\# a\n1\\. \\<b> \\& \\*c\\*"],
])("Markdown in the dialect gfm: %s", (_, text, markdown) => {
  expect(toMarkdown(text, "gfm")).toBe(markdown);
});

test("a line break is a backslash and a newline in CommonMark, and a newline in the other dialects", () => {
  expect(toMarkdown("a\nb", "commonmark")).toBe("a\\\nb");
  for (const dialect of ["gfm", "slack", "xmpp"] as const) expect(toMarkdown("a\nb", dialect)).toBe("a\nb");
});

test("rendering a tree gives the same result as rendering its text", () => {
  const text = "> **a** `b`\n\n[c](https://d.example)";
  for (const dialect of ["commonmark", "gfm", "slack", "xmpp"] as const) {
    expect(toMarkdown(parseMessageText(text), dialect)).toBe(toMarkdown(text, dialect));
  }
});
