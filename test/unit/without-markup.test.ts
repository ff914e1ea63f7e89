import * as fc from "fast-check";
import { withoutMarkup } from "../../contract/without-markup";
import { forAll } from "../harness/for-all";

test.each([
  ["**Trivia!** Ada opens a game.", "Trivia! Ada opens a game."],
  ["*Players:* Ada", "Players: Ada"],
  ["What is 2 \\*\\* 10 \\| 1?", "What is 2 ** 10 | 1?"],
  ["> In which year …", "In which year …"],
  ["Type `roll` or snake_case", "Type roll or snake_case"],
  ["_Ada_ reads [the rules](https://example.org/a_b) [Join]", "Ada reads the rules [Join]"],
  ["[**Rules** of \\[chess\\]](https://example.org) and **unclo", "Rules of [chess] and unclo"],
  ["[Rules](https://example.org/cut", "Rules"],
  ["ends with a backslash \\", "ends with a backslash \\"],
])("the words of %j are %j", (text, words) => {
  expect(withoutMarkup(text)).toBe(words);
});

test("if a game has escaped each mark in a text, removing the markup restores the original characters", () => {
  forAll(fc.record({ text: fc.string({ unit: "grapheme", maxLength: 80 }) }), ({ text }) => {
    expect(withoutMarkup(text.replaceAll(/[!-/:-@[-`{-~]/g, "\\$&"))).toBe(text);
  });
});
