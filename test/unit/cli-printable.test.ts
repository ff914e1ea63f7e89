import { stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";
import { printable, printableJson } from "../../cli/printable";
import { tableLines } from "../../cli/table";
import { ANY_CHARACTER, forAll } from "../harness/for-all";

/** Characters that could control a terminal, or hide or reverse text. */
const STEERING =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]/;
const withoutPairs = (text: string) => text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, "");

const SEQUENCES = "\u001b[2J \u001b]0;title\u0007 \u009b31m \r \n \u202e \ud83d \u007f".split(" ");
/** Strings with many dangerous sequences. */
const hostile = fc
  .array(fc.oneof(fc.string({ unit: ANY_CHARACTER }), fc.constantFrom(...SEQUENCES)))
  .map((parts) => parts.join(""));

test("printed text cannot control a terminal", () => {
  forAll(hostile, (text) => {
    const shown = printable(text);
    expect(withoutPairs(shown)).not.toMatch(STEERING);
    expect(stripVTControlCharacters(shown)).toBe(shown);
  });
});

test("JSON is printed in one line, cannot control a terminal, and parses to the same value", () => {
  forAll(fc.jsonValue(), hostile, (value, text) => {
    const line = printableJson({ value, text });
    expect(withoutPairs(line)).not.toMatch(STEERING);
    expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify({ value, text })));
  });
});

test("text without control characters is printed unchanged", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme-ascii" }), (text) => expect(printable(text)).toBe(text)));
  expect(printable('Zoë 日本 👩‍🚀 می‌خواهم \\ "')).toBe('Zoë 日本 👩‍🚀 می‌خواهم \\ "');
});

test.each([
  ["\u001b[31m", "\\x1b[31m"],
  ["a\nb\tc\r", "a\\nb\\tc\\r"],
  ["\u009b1A", "\\x9b1A"],
  ["\u202eevil", "\\u{202e}evil"],
  ["\udc00", "\\u{dc00}"],
])("%j is shown as %s", (text, shown) => {
  expect(printable(text)).toBe(shown);
});

test("the columns of a table are aligned", () => {
  const rows = ["Ann poll", "日本語 push", "a\nb poll"].map((row) => row.split(" "));
  const lines = ["NAME    MODE", "Ann     poll", "日本語  push", "a\\nb    poll"];
  expect(tableLines(["name", "mode"], rows)).toEqual(lines);
});
