import * as fc from "fast-check";
import { ANY_CHARACTER } from "../../../test/harness/for-all";

/** A short piece of text. Most pieces can be markup. */
const MARKUP = fc.constantFrom(
  ..."\\`*_{}[]()#+-.!|~<>&=:\"'^$@/ \t\n\r\0ab1\u00A0\u2028\uFEFF",
  ..."\n\n;  ;**;~~~;```;---;1.;1);=== ;![;](x);[a]: b;| a |\n|-|;    a".split(";"),
  ..."<b>;<!--;&amp;;&#35;;_www.a.example;https://a.example;<https://a.example>;\uD800;🎲".split(/;(?!;|$)/),
);

/** Text with much markup, most of it incomplete. */
const MARKED_UP = fc.array(MARKUP, { maxLength: 12 }).map((parts) => parts.join(""));
/** Any text that a member can type. */
export const ANY_TEXT = fc.oneof(MARKED_UP, fc.string({ unit: ANY_CHARACTER, maxLength: 40 }));

const PIECES = fc.constantFrom(
  ..."*;**;_;__;*;**;a;b ; ;(;);.;\n;\n\n;\n> ;> ;\\;\\*;\\\n;`;``;`a`;\n#;🎲;é;1.;|".split(";"),
  ..."[a](https://a.example/b_(c));[*a* b](mailto:a@b.example);](https://a.example);[;<https://a.example>".split(
    ";",
  ),
  "&amp;",
  "\n```ts\na\n```\n",
  "\n~~~ `\n```\n~~~\n",
);

/** Texts of messages with much markup, both valid and invalid. Chats can open all links in these texts. */
export const MESSAGE_TEXT = fc.oneof(
  fc.array(PIECES, { maxLength: 14 }).map((parts) => parts.join("")),
  ANY_TEXT.map((text) => text.toWellFormed().replaceAll("](x)", "](https://x.example)")),
);

/** URLs of links, safe and unsafe. */
export const ANY_LINK = fc.oneof(
  fc.constantFrom(
    "javascript:alert(1)",
    "JaVaScRiPt:a",
    " javascript:a",
    "data:text/html,a",
    "vbscript:a",
    "/a",
    "//a",
  ),
  fc
    .tuple(fc.constantFrom("https://a.example/", "mailto:", "javascript:", "java\nscript:", ""), ANY_TEXT)
    .map((parts) => parts.join("")),
);
