import { stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";
import { DELIVERY_RESULTS, RESULT_MEANINGS } from "../../contract/deliveries";
import { painted, plain, rendered, resultLook, type Line } from "../../cli/colour";
import { printable } from "../../cli/printable";
import { tableLines } from "../../cli/table";
import { hasColour, type Look } from "../../kit/terminal-colour";
import { ANY_CHARACTER, forAll } from "../harness/for-all";

const SEQUENCES = "\u001b[2J \u001b]0;title\u0007 \u009b31m \u001b[31m \n \u202e".split(" ");
const hostile = fc
  .array(fc.oneof(fc.string({ unit: ANY_CHARACTER }), fc.constantFrom(...SEQUENCES)), { maxLength: 8 })
  .map((parts) => parts.join(""));
const LOOKS: readonly Look[] = ["good", "bad", "warning", "link", "strong", "dim"];
const spans = fc.array(
  fc.tuple(fc.constantFrom(undefined, ...LOOKS), hostile).map(([look, text]) => painted(look, text)),
);
/** The escape sequences of all styles of text. */
// oxlint-disable-next-line no-control-regex
const COLOUR = /\u001b\[(?:1|22|3[1-6]|39|90)m/g;

test("coloured text contains no other escape sequences, and is otherwise equal to the text without colour", () => {
  forAll(spans, (line: Line) => {
    const bare = rendered(line, false);
    expect(bare).toBe(plain(line).split("\n").map(printable).join("\n"));
    const shown = rendered(line, true);
    expect(shown.replaceAll(COLOUR, "")).toBe(bare);
    expect(stripVTControlCharacters(shown)).toBe(bare);
  });
});

test("no colour continues into the next line", () => {
  expect(rendered(painted("bad", "a\nb"), true)).toBe("\u001b[31ma\u001b[39m\n\u001b[31mb\u001b[39m");
});

test("colours in cells do not move the columns of a table, and untrusted cells stay in one line", () => {
  const rows = [
    ["\u001b[31mAnn\n", "poll"],
    ["日本語", "push"],
  ];
  const coloured = rows.map((row) => row.map((cell) => painted("bad", cell)));
  const bare = tableLines(["name", "mode"], rows).map(plain);
  expect(tableLines(["name", "mode"], coloured).map((line) => rendered(line, false))).toEqual(bare);
});

test("each result of a delivery has the colour of its outcome", () => {
  const shown = DELIVERY_RESULTS.map((result) => [RESULT_MEANINGS[result].outcome, resultLook(result)]);
  expect(new Set(shown.map(String))).toEqual(new Set(["success,good", "failed,bad", "dropped,warning"]));
});

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: "1" }, false],
  [true, { NO_COLOR: "" }, true],
  [true, { TERM: "dumb" }, false],
  [true, { FORCE_COLOR: "0" }, false],
  [false, { FORCE_COLOR: "1" }, true],
  [false, { FORCE_COLOR: "" }, true],
  [false, { FORCE_COLOR: "1", NO_COLOR: "1" }, true],
] as const)("for isTTY %p and %j, colour is %p", (isTTY, environment, expected) => {
  expect(hasColour({ isTTY }, environment)).toBe(expected);
});
