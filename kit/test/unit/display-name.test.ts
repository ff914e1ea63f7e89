import * as fc from "fast-check";
import { displayName } from "../../display-name";
import { escapeLine } from "../../message-text-escape";

const code = (text: string) => [...text].map((each) => each.codePointAt(0)?.toString(16)).join(" ");

test.each(
  [
    "",
    " \t\n\u00a0\u3000",
    "\u200b",
    "\u2060\u2060",
    "\u2800",
    "\u3164",
    "\u115f\u1160\uffa0",
    "\u00ad",
    "\u200d\ufe0f",
    "\u0301\u0302",
    "\u{e0041}\u{e007f}",
    "\u202e\u2066\u200f\u061c",
    "\u0000\u0085",
    "\ud83d",
  ].map((name) => [code(name), name]),
)("a name that shows nothing is replaced: %s", (_code, name) => {
  expect(displayName(name, "someone")).toBe("someone");
});

test.each([
  ["Ada", "Ada"],
  ["  Ada  ", "Ada"],
  ["Zoë e\u0301", "Zoë e\u0301"],
  ["👩‍🚀", "👩‍🚀"],
  ["मैं", "मैं"],
  ["李雷", "李雷"],
  ["7", "7"],
  ["*", "*"],
])("a name without special characters stays as it is: %s", (name, shown) => {
  expect(displayName(name, "someone")).toBe(shown);
});

test.each([
  ["Eve\u202e021+", "Eve021+"],
  ["\u2067Ada\u2069", "Ada"],
  ["محمد 🦊", "\u2068محمد 🦊\u2069"],
  ["\u202bדנה\u202c", "\u2068דנה\u2069"],
  ["𞤀𞤣", "\u2068𞤀𞤣\u2069"],
])("a name cannot change the direction of the text after it: %s", (name, shown) => {
  expect(displayName(name, "someone")).toBe(shown);
});

test("a display name contains balanced isolates and no other direction marks, and another call of displayName does not change it", () => {
  const marks = [..."\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"];
  const part = fc.oneof(
    fc.constantFrom(...marks, "א", "م", "a", " ", "\u200b", "1"),
    fc.string({ unit: "binary", maxLength: 3 }),
  );
  const names = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(names, (name) => {
      const shown = displayName(name, "someone");
      expect(shown).toMatch(/^(?:\u2068\P{Bidi_Control}+\u2069|\P{Bidi_Control}+)$/u);
      expect(displayName(shown, "someone")).toBe(shown);
      expect(escapeLine(shown)).not.toBe("");
    }),
  );
});
