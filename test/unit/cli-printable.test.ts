import { stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";
import { printable, printableJson } from "../../cli/printable";
import { tableLines } from "../../cli/table";

/** Whatever could steer a terminal, hide text or turn it around. */
const STEERING =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]/;
const withoutPairs = (text: string) => text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, "");

/** Texts with more of what is dangerous than chance would give. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        "\u001b[2J",
        "\u001b]0;title\u0007",
        "\u009b31m",
        "\r",
        "\n",
        "\u202e",
        "\ud83d",
        "\u007f",
      ),
    ),
  )
  .map((parts) => parts.join(""));

test("no text of others can steer a terminal, whatever is in it", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const shown = printable(text);
      expect(withoutPairs(shown)).not.toMatch(STEERING);
      expect(stripVTControlCharacters(shown)).toBe(shown);
    }),
  );
});

test("JSON for programs has nothing for a terminal either, is one line, and keeps its value", () => {
  fc.assert(
    fc.property(fc.jsonValue(), hostile, (value, text) => {
      const line = printableJson({ value, text });
      expect(withoutPairs(line)).not.toMatch(STEERING);
      expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify({ value, text })));
    }),
  );
});

test("text without such characters is shown as it is", () => {
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

test("a table's columns begin at the same place, whatever is in them", () => {
  const lines = tableLines(
    ["name", "mode"],
    [
      ["Ann", "poll"],
      ["日本語", "push"],
      ["a\nb", "poll"],
    ],
  );
  expect(lines).toEqual(["NAME    MODE", "Ann     poll", "日本語  push", "a\\nb    poll"]);
});
