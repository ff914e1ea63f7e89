import * as fc from "fast-check";
import MarkdownIt from "markdown-it";
import { parseMessageText, toPlainText, type Block, type Inline } from "../../message-text";
import { escapeLine, escapeText } from "../../message-text-escape";
import { forMany } from "../../../test/harness/for-all";
import { ANY_TEXT } from "../harness/any-text";

const text = (text: string): Inline => ({ type: "text", text });
const paragraph = (...children: Inline[]): Block => ({ type: "paragraph", children });
const italic = (...children: Inline[]): Inline => ({ type: "italic", children });
const bold = (...children: Inline[]): Inline => ({ type: "bold", children });
const link = (...children: Inline[]): Inline => ({ type: "link", url: "https://c.example/d", children });
const quote = (...children: Block[]): Block => ({ type: "quote", children });
const code = (language: string | null, text: string): Block => ({ type: "code-block", language, text });
const BREAK: Inline = { type: "break" };

test.each<[string, string, readonly Block[]]>([
  ["italic", "*a* _b_", [paragraph(italic(text("a")), text(" "), italic(text("b")))]],
  ["bold", "**a** __b__", [paragraph(bold(text("a")), text(" "), bold(text("b")))]],
  ["bold within italic", "*a **b***", [paragraph(italic(text("a "), bold(text("b"))))]],
  ["inline code", "`a*b*`", [paragraph({ type: "inline-code", text: "a*b*" })]],
  ["a link", "[a *b*](https://c.example/d)", [paragraph(link(text("a "), italic(text("b"))))]],
  ["a link in angle brackets", "<https://c.example/d>", [paragraph(link(text("https://c.example/d")))]],
  ["a quote", "> a\n>\n> > b", [quote(paragraph(text("a")), quote(paragraph(text("b"))))]],
  ["a fenced code block", "```ts x\n*a*\n\nb\n```", [code("ts", "*a*\n\nb")]],
  ["a fenced code block without a language", "~~~\na\n~~~", [code(null, "a")]],
  ["backslash escapes", "\\*a\\* \\| \\~ \\\\", [paragraph(text("*a* | ~ \\"))]],
  ["a bare newline is a line break", "a\nb", [paragraph(text("a"), BREAK, text("b"))]],
  ["two spaces before a newline change nothing", "a  \nb", [paragraph(text("a"), BREAK, text("b"))]],
  ["a backslash before a newline is a line break too", "a\\\nb", [paragraph(text("a"), BREAK, text("b"))]],
  ["a bare newline in a quote is a line break", "> a\n> b", [quote(paragraph(text("a"), BREAK, text("b")))]],
  ["a blank line separates paragraphs", "a\n\nb", [paragraph(text("a")), paragraph(text("b"))]],
  ["empty text has no blocks", "", []],
])("message text is parsed: %s", (_, markdown, blocks) => {
  expect(parseMessageText(markdown)).toEqual(blocks);
});

test.each([
  ["a heading", "# a"],
  ["a list", "1. a"],
  ["a bullet", "- a"],
  ["a horizontal rule", "---"],
  ["strikethrough", "~~a~~"],
  ["HTML", "<b>a</b>"],
  ["an entity", "&lt;b&gt;"],
  ["a link that runs code", "[a](javascript:alert(1))"],
  ["a bare URL", "https://a.example"],
])("%s is not markup in message text", (_, markdown) => {
  expect(parseMessageText(markdown)).toEqual([paragraph(text(markdown))]);
});

test("message text that is rendered without markup keeps its lines, quotes and URLs", () => {
  const markdown = "**a** [b](https://c.example/d)\nc\n\n> d\n> `e`\n\n```\nf\n```\n<https://c.example/d>";
  const plain = "a b (https://c.example/d)\nc\n\n> d\n> e\n\nf\n\nhttps://c.example/d";
  expect(toPlainText(parseMessageText(markdown))).toBe(plain);
});

/** Returns text as Markdown renderers show it: lines are trimmed, blank lines are merged, and NULs are replaced. */
function shown(text: string): string {
  const lines = text
    .replaceAll("\r\n", "\n")
    .split(/[\r\n]/)
    .map((line) => line.trim());
  const kept = lines.filter((line, index) => line !== "" || (index > 0 && lines[index - 1] !== ""));
  return kept.join("\n").trim().replaceAll("\0", "\uFFFD").toWellFormed();
}

test("escaping and then parsing any text gives no markup, and the same text except for white space and NULs", () => {
  forMany(1000, ANY_TEXT, (original) => {
    const blocks = parseMessageText(escapeText(original));
    const types = blocks.flatMap(typesIn);
    expect(types.filter((type) => !["paragraph", "text", "break"].includes(type))).toEqual([]);
    expect(toPlainText(blocks)).toBe(shown(original));
  });
});

// contract: text-escaped
test.each<["commonmark" | "default", object]>([
  ["commonmark", { html: true, breaks: true }],
  ["default", { html: true, breaks: true, linkify: true }],
])(
  "escaped text stays text in a Markdown renderer with the preset %s and HTML enabled",
  (preset, options) => {
    const renderer = new MarkdownIt(preset, options);
    // Escaping cannot stop a renderer from guessing links without a scheme, so this test turns off the guessing.
    renderer.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false }).add("//", null);
    forMany(1000, ANY_TEXT, (original) => {
      const paragraphs = renderer.parse(escapeText(original), {}).filter(({ nesting }) => nesting === 0);
      expect(paragraphs.filter(({ type }) => type !== "inline")).toEqual([]);
      const lines = paragraphs.map(({ children }) =>
        (children ?? []).map(({ type, content }) =>
          type === "softbreak" ? "\n" : type === "text" ? content : type,
        ),
      );
      expect(lines.map((line) => line.join("")).join("\n\n")).toBe(shown(original));
    });
  },
);

test("an escaped name and question do not change the Markdown around them", () => {
  forMany(1000, ANY_TEXT, ANY_TEXT, (name, question) => {
    // Unicode's "next line" (U+0085) also ends a line, but `\s` does not match this character.
    const line = shown(name).replaceAll(/[\s\u0085]+/g, " ");
    const [nameShown, questionShown] = [line.trim(), shown(question)];
    fc.pre(nameShown !== "" && !/\n/.test(questionShown) && questionShown !== "");
    const [n, q] = [escapeLine(name), escapeText(question)];
    const url = "https://c.example/d";
    expect(parseMessageText(`> **${n}** asks *${q}* [${n}](${url})\n${q}[x](${url})`)).toEqual([
      quote(
        paragraph(
          bold(text(nameShown)),
          text(" asks "),
          italic(text(questionShown)),
          text(" "),
          link(text(nameShown)),
          BREAK,
          text(questionShown),
          link(text("x")),
        ),
      ),
    ]);
  });
});

test.each([
  ["a link", "[a]", "(https://c.example)", ""],
  ["the definition of a link", "[a]", ": https://c.example", ""],
  ["an image", "", "hi!", "[a](https://c.example)"],
  ["a list", "1", ". a", ""],
  ["a list with a bracket after the number", "1", ") a", ""],
])("escaped text does not form %s with the text around it", (_, before, original, after) => {
  const types = new MarkdownIt("commonmark").parse(`${before}${escapeText(original)}${after}`, {});
  expect(types.map(({ type }) => type)).toEqual(["paragraph_open", "inline", "paragraph_close"]);
  const inline = types.flatMap(({ children }) => children ?? []).map(({ type }) => type);
  expect(inline).toEqual(after === "" ? ["text"] : ["text", "link_open", "text", "link_close"]);
});

// contract: text-escaped
test.each([
  ["Jean-Luc O'Neil (2nd)", "Jean-Luc O'Neil (2nd)"],
  ["a_b|c~d", "a\\_b\\|c\\~d"],
  ["1. **x** <b>", "1\\. \\*\\*x\\*\\* \\<b>"],
  ["Which is 10:30?\n- this\n\n\n\n  that!", "Which is 10:30?\n\\- this\n\nthat\\!"],
  ["see www.a.example or https://b.example", "see www\\.a.example or https\\://b.example"],
])("only characters that can be markup are escaped: %j", (original, escaped) => {
  expect(escapeText(original)).toBe(escaped);
});

function typesIn(node: Block | Inline): readonly string[] {
  return [node.type, ...("children" in node ? node.children.flatMap(typesIn) : [])];
}
