import { parseMessageText, toPlainText, type Block } from "../../message-text";
import { escapeLine } from "../../message-text-escape";
import { toHtml } from "../../render";
import { forMany } from "../../../test/harness/for-all";
import { ANY_LINK, ANY_TEXT, MESSAGE_TEXT } from "../harness/any-text";
import { shownBlocks } from "../harness/shown-text";

/** Matches each tag that `toHtml` can write. The value of an attribute contains no quotation mark or angle bracket. */
const TAG = new RegExp(
  [
    "</?(?:p|strong|em|code|pre|blockquote)>",
    "<br>",
    '<code class="language-[^"<>]+">',
    '<a href="(?:https?://|mailto:)[^"<>\\s]+">',
    "</a>",
  ].join("|"),
  "gi",
);

/** Returns the text of HTML as a browser shows it. Fails if the HTML contains any other tag, or a bare ampersand. */
function textOf(html: string): string {
  const text = html.replaceAll("<br>", "\n").replaceAll(TAG, "");
  expect(text).not.toMatch(/[<>"']|&(?!(?:amp|lt|gt|quot|#39);)/);
  const characters = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
  return text.replaceAll(/&([^;]+);/g, (_, name: keyof typeof characters) => characters[name]);
}

test("HTML contains only the documented tags, and everything else in the text is escaped", () => {
  forMany(1000, MESSAGE_TEXT, (text) => {
    const lines = shownBlocks(parseMessageText(text)).map((line) =>
      typeof line === "string" ? line.replace(/^.*\n?/, "") : line.map(([span]) => span).join(""),
    );
    expect(textOf(toHtml(text)).replaceAll(/\s/g, "")).toBe(lines.join("").replaceAll(/\s/g, ""));
  });
});

test("an escaped name is literal in HTML", () => {
  forMany(1000, ANY_TEXT, (name) => {
    const escaped = escapeLine(name);
    const html = toHtml(`x${escaped}x`);
    expect(html).toMatch(/^<p>[^<]*<\/p>$/);
    expect(textOf(html)).toBe(toPlainText(`x${escaped}x`));
  });
});

test("only links to web pages and emails are links in HTML", () => {
  forMany(1000, ANY_LINK, (url) => {
    const link = { type: "link", url, children: [{ type: "text", text: "a" }] } as const;
    const blocks: Block[] = [{ type: "paragraph", children: [link] }];
    expect(textOf(toHtml(blocks))).toBe("a");
  });
});

test.each([
  ["paragraphs and line breaks", "a\nb\n\nc", "<p>a<br>b</p><p>c</p>"],
  ["styles", "*a **b*** `c`", "<p><em>a <strong>b</strong></em> <code>c</code></p>"],
  ["a quote", "> a\n> > b", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>"],
  ["code", "```ts\na < b\n```", '<pre><code class="language-ts">a &lt; b\n</code></pre>'],
  ["code without a language", "```\na\n```", "<pre><code>a\n</code></pre>"],
  ["a language that is not a word", '```"><script>\na\n```', "<pre><code>a\n</code></pre>"],
  ["a link", "[a](https://b.example?c&d)", '<p><a href="https://b.example?c&amp;d">a</a></p>'],
  [
    "a link without a label",
    "[](https://b.example)",
    '<p><a href="https://b.example">https://b.example</a></p>',
  ],
  ["a relative link", "[*a*](/b)", "<p><em>a</em></p>"],
  ["HTML", '<img src=x onerror="a">', "<p>&lt;img src=x onerror=&quot;a&quot;&gt;</p>"],
])("HTML of %s", (_, text, html) => {
  expect(toHtml(text)).toBe(html);
  expect(toHtml(parseMessageText(text))).toBe(html);
});
