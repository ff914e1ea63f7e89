import * as fc from "fast-check";
import type { Message } from "chat-bridge-kit";
import { ANY_CHARACTER, forAll } from "../../../../test/harness/for-all";
import { printLines, TEXT_MAX_BYTES } from "../../print/print-lines";
import { choicesLine } from "../../text/choices-line";
import { messageParts } from "../../text/message-parts";
import { plainText } from "../../text/plain-text";
import { splitLine } from "../../text/split-line";
import { BOLD, ITALIC } from "../../text/styled-lines";

const message = (fields: Partial<Message>): Message => ({
  id: "msg_00000000000000000000000000",
  kind: "card",
  text: "",
  buttons: [],
  image: null,
  awaitsReply: false,
  data: null,
  ...fields,
});
const linesOf = (fields: Partial<Message>, maxLines = 20, isStyled = true): readonly string[] =>
  printLines(messageParts(message(fields), { isStyled, prefix: "!" }), maxLines);

const words = fc.stringMatching(/^[a-zäß€😀 ]{0,200}$/u);

test("a long line is split at spaces, within the maximum number of bytes, and no text is lost", () => {
  forAll(words, fc.integer({ min: 16, max: 80 }), (line, max) => {
    const parts = splitLine(line, max);
    for (const part of parts) expect(Buffer.byteLength(part)).toBeLessThanOrEqual(max);
    expect(parts.join("").replaceAll(" ", "")).toBe(line.replaceAll(" ", ""));
    for (const part of parts) expect(Buffer.from(part).toString()).toBe(part);
  });
});

test("a line without spaces is split between code points", () => {
  const parts = splitLine("😀".repeat(20), 18);
  expect(parts).toEqual(["😀😀😀😀", "😀😀😀😀", "😀😀😀😀", "😀😀😀😀", "😀😀😀😀"]);
});

test("bold text that continues on the next line is bold there too", () => {
  expect(splitLine(`${BOLD}one two three four five${BOLD} six`, 16)).toEqual([
    `${BOLD}one two three`,
    `${BOLD}four five${BOLD} six`,
  ]);
});

test("Markdown becomes lines with codes for bold and italic text, or plain lines", () => {
  const text =
    "**Bold** and _italic_\nnext `line`\n\n> quoted\n\n[label](https://example.org)\n\n```\n +--+\n  |\n```";
  expect(linesOf({ text })).toEqual([
    `${BOLD}Bold${BOLD} and ${ITALIC}italic${ITALIC}`,
    "next line",
    "> quoted",
    "label (https://example.org)",
    " +--+",
    "  |",
  ]);
  expect(linesOf({ text }, 20, false)[0]).toBe("Bold and italic");
});

test("an image, links and choices follow the text", () => {
  const buttons = [
    [
      { label: "A · Paris", action: "a" },
      { label: "B · Rome", action: "b" },
    ],
    [{ label: "Read more", url: "https://example.org/more" }],
  ];
  expect(linesOf({ text: "Where?", image: "https://example.org/1.png", buttons })).toEqual([
    "Where?",
    "https://example.org/1.png",
    "Read more: https://example.org/more",
    "1 A · Paris  2 B · Rome  (answer with !1 or !2)",
  ]);
  expect(choicesLine([[{ label: "Go", action: "go" }]], "")).toBe("1 Go  (answer with 1)");
});

test("a long message is cut, with the number of missing lines, and keeps its choices", () => {
  const text = Array.from({ length: 30 }, (_, i) => `line ${i}`).join("\n");
  const lines = linesOf({ text, buttons: [[{ label: "Go", action: "go" }]] }, 5);
  expect(lines).toEqual(["line 0", "line 1", "line 2", "… (27 more lines)", "1 Go  (answer with !1)"]);
});

test("no text can end a line or begin a command of the protocol", () => {
  forAll(fc.string({ unit: ANY_CHARACTER }), (text) => {
    const hostile = `${text}\r\nQUIT\u0001\u2028`;
    const buttons = [
      [
        { label: hostile, action: "a" },
        { label: hostile, url: hostile },
      ],
    ];
    for (const line of linesOf({ text: hostile, buttons, image: hostile }, 100)) {
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(TEXT_MAX_BYTES);
      expect(line.replaceAll(BOLD, "").replaceAll(ITALIC, "")).toMatch(/^[^\p{Cc}\u2028\u2029]+$/u);
    }
  });
});

test("typed text loses the codes for colors and styles", () => {
  expect(plainText(` \u000304,12!play\u0003 \u0002start\u000F \u0004ff0000x`)).toBe("!play start x");
});
