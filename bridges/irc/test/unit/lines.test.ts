import * as fc from "fast-check";
import type { Message } from "chat-bridge-kit";
import { ANY_CHARACTER, forAll } from "../../../../test/harness/for-all";
import { printLines } from "../../print/print-lines";
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
const MAX_BYTES = 400;
const linesOf = (fields: Partial<Message>, maxLines = 20, isStyled = true): readonly string[] =>
  printLines(messageParts(message(fields), { isStyled, prefix: "!" }), { maxLines, maxBytes: MAX_BYTES });

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
    `${BOLD}Bold${BOLD} and ${ITALIC}italic${ITALIC} · next line > quoted · label (https://example.org)`,
    " +--+",
    "  |",
  ]);
  expect(linesOf({ text }, 20, false)[0]).toBe(
    "Bold and italic · next line > quoted · label (https://example.org)",
  );
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
    "Where? https://example.org/1.png · Read more: https://example.org/more",
    "1 A · Paris  2 B · Rome  (answer with !1 or !2)",
  ]);
  expect(choicesLine([[{ label: "Go", action: "go" }]], "")).toBe("1 Go  (answer with 1)");
  expect(
    linesOf({ text: "Which word?", buttons: [[{ label: "Hint", action: "h" }]], awaitsReply: true }),
  ).toEqual(["Which word?", "1 Hint  (press with !1, or type your answer)"]);
});

/** The phases of a game, as the trivia game publishes them. */
const GAME = {
  lobby: {
    text: "**Trivia!** Ann opens a game.\n\n5 questions, 20 seconds each\n\n_Players:_ **Ann**, **Bob**",
    lines: ["Trivia! Ann opens a game. 5 questions, 20 seconds each · Players: Ann, Bob"],
  },
  question: {
    text: "**Question 1 of 5** · 20 seconds\n\n> Which country has this flag?",
    image: "https://example.org/1.png",
    lines: ["Question 1 of 5 · 20 seconds > Which country has this flag? | https://example.org/1.png"],
  },
  number: {
    text: "**Question 5 of 5** · 20 seconds\n\n> How long is a marathon?\n\n_The closest wins: type a number._",
    lines: ["Question 5 of 5 · 20 seconds > How long is a marathon? | The closest wins: type a number."],
  },
  answer: {
    text: "**Question 1 of 5** · Time is up\n\nThe answer: **C · Chad**\n\nBob +141 · Cid +120",
    buttons: [[{ label: "Read more", url: "https://example.org/chad" }]],
    lines: [
      "Question 1 of 5 · Time is up | The answer: C · Chad | Bob +141 · Cid +120 | Read more: https://example.org/chad",
    ],
  },
  board: {
    text: "**Final board**\n\n🥇 **Bob** · 150 points\n🥈 **Cid** · 147 points\n– **Ann** · 0 points",
    lines: ["Final board | 🥇 Bob · 150 points | 🥈 Cid · 147 points | – Ann · 0 points"],
  },
  "board without points": {
    text: "**Final board**\n\nNobody scored this time.\n\n– **Bob** · 0 points\n– **Ann** · 0 points",
    lines: ["Final board | Nobody scored this time. | – Bob · 0 points | – Ann · 0 points"],
  },
};

test.each(Object.entries(GAME))("short lines of a %s share a line", (_phase, { lines, ...fields }) => {
  expect(linesOf(fields, 20, false)).toEqual(lines);
});

test("a list with long lines, a drawing and the lines of a long quote stay separate", () => {
  const list = [
    "start · open a game in this channel",
    "suggest · suggest a topic for the channel to talk about",
  ];
  expect(linesOf({ text: `Send one of these words:\n\n${list.join("\n")}\n\nOther games: hangman` })).toEqual(
    ["Send one of these words:", ...list, "Other games: hangman"],
  );
  const rows = ["a _ _", "b"];
  expect(
    linesOf({ text: `Guess\n\n\`\`\`\n${rows.join("\n")}\n\`\`\`\n\n> one\n> two\n\nYour turn` }),
  ).toEqual(["Guess", ...rows, "> one", "> two", "Your turn"]);
});

test("lines that do not fit in one line begin a new line, and no text is lost", () => {
  forAll(fc.array(words, { maxLength: 12 }), fc.integer({ min: 64, max: 400 }), (paragraphs, maxBytes) => {
    const parts = messageParts(message({ text: paragraphs.join("\n\n") }), { isStyled: false, prefix: "!" });
    const lines = printLines(parts, { maxLines: 100, maxBytes });
    for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(maxBytes);
    const letters = (texts: readonly string[]) => texts.join("").replaceAll(/[^a-zäß€😀]/gu, "");
    expect(letters(lines)).toBe(letters(parts.flatMap((part) => part.lines)));
  });
});

test("a long message is cut, with the number of missing lines, and keeps its choices", () => {
  const text = `\`\`\`\n${Array.from({ length: 30 }, (_, i) => `line ${i}`).join("\n")}\n\`\`\``;
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
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(MAX_BYTES);
      expect(line.replaceAll(BOLD, "").replaceAll(ITALIC, "")).toMatch(/^[^\p{Cc}\u2028\u2029]+$/u);
    }
  });
});

test("typed text loses the codes for colors and styles", () => {
  expect(plainText(` \u000304,12!play\u0003 \u0002start\u000F \u0004ff0000x`)).toBe("!play start x");
});
