import * as fc from "fast-check";
import { readNumber } from "../../demo/game/rules/read-number";
import { forAll } from "../harness/for-all";

const isUnit = (word: string) => ["km", "%", "°", "χλμ"].includes(word);
const read = (text: string) => readNumber(text, isUnit);

test.each<[string, number]>([
  ["42", 42],
  [" +42 ", 42],
  ["-7", -7],
  ["\u22127", -7],
  ["\u20137", -7],
  ["- 7", -7],
  ["0", 0],
  ["007", 7],
  ["42.5", 42.5],
  ["42,5", 42.5],
  ["0,500", 0.5],
  ["0.195", 0.195],
  ["42.1950", 42.195],
  ["1234,567", 1234.567],
  ["1 850", 1850],
  ["1\u00a0850", 1850],
  ["1\u202f850", 1850],
  ["1\u2009850", 1850],
  ["1'850", 1850],
  ["1’850", 1850],
  ["1_850_000", 1_850_000],
  ["1,850,000", 1_850_000],
  ["1.850.000", 1_850_000],
  ["1,234.5", 1234.5],
  ["1.234,5", 1234.5],
  ["1.234.567,891", 1_234_567.891],
  ["1 234,567", 1234.567],
  ["１８５０", 1850],
  ["١٨٥٠", 1850],
  ["۱۸۵۰", 1850],
  ["१८५०", 1850],
  ["১৮", 18],
  ["𝟙𝟠", 18],
  ["١٬٨٥٠", 1850],
  ["٤٢٫٥", 42.5],
  ["\u200f١٨٥٠\u200f", 1850],
  ["42 km", 42],
  ["42km", 42],
  ["42\u00a0km", 42],
  ["5 %", 5],
  ["５％", 5],
  ["20°", 20],
  ["42 χλμ", 42],
])("%j is read as %d", (text, value) => {
  expect(read(text)).toEqual({ is: "number", value });
});

test.each([
  ["42,195", "42195", "42.195"],
  ["42.195", "42195", "42.195"],
  ["1.850", "1850", "1.850"],
  ["-1,850 km", "-1850", "-1.850"],
  ["١,٨٥٠", "1850", "1.850"],
  ["42٫195", "42195", "42.195"],
])("%j can mean two numbers", (text, whole, decimal) => {
  expect(read(text)).toEqual({ is: "unclear", whole, decimal });
});

test.each([
  "",
  " ",
  "many",
  "I think 42",
  "42 please",
  "2 km away",
  "1 85",
  "12 34 567",
  "1,85,000",
  "1.234,567.8",
  "1 234'567",
  "1,234 567",
  "1.234 5",
  "1,234'567",
  "1,234,567 8",
  "1 234 567.8.9",
  "1,2.3",
  "1..2",
  "1e5",
  "½",
  "0x10",
  "--1",
  "1-2",
  "42,",
  ".5",
  "1234567890123",
  "1.1234567",
  "Infinity",
])("%j is not read as a number", (text) => {
  expect(read(text)).toEqual({ is: "none" });
});

test("if a number is ambiguous, both of its meanings can be typed unambiguously, in the way that the notice advises", () => {
  const parts = fc.tuple(
    fc.integer({ min: 1, max: 999 }),
    fc.integer({ min: 0, max: 999 }),
    fc.constantFrom(".", ","),
  );
  forAll(parts, ([whole, rest, mark]) => {
    const found = read(`${whole}${mark}${String(rest).padStart(3, "0")}`);
    if (found.is !== "unclear") throw new Error("the number is clear");
    expect(read(found.whole)).toEqual({ is: "number", value: whole * 1000 + rest });
    expect(read(`${found.decimal}0`)).toEqual({ is: "number", value: Number(found.decimal) });
  });
});

test("a whole number is read in all its usual forms, and in the digits of other scripts", () => {
  const zeros = fc.constantFrom(0x30, 0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xff10, 0x1d7d8);
  const marks = fc.constantFrom(" ", "\u00a0", "\u202f", "'", "’", "_");
  forAll(fc.tuple(fc.integer({ min: 0, max: 999_999_999 }), zeros, marks), ([value, zero, mark]) => {
    const plain = String(value);
    const inScript = plain.replaceAll(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));
    expect(read(inScript)).toEqual({ is: "number", value });
    expect(read(value.toLocaleString("en").replaceAll(",", mark))).toEqual({ is: "number", value });
  });
});

test("any string is read without an error, and any number that is found is finite", () => {
  forAll(fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[0-9 .,'_+-]{0,20}$/)), (text) => {
    const found = read(text);
    if (found.is === "number") expect(Number.isFinite(found.value)).toBe(true);
  });
});
