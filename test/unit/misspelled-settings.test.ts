import * as fc from "fast-check";
import { misspelledSettings } from "../../runtime/misspelled-settings";
import { forAll } from "../harness/for-all";

const KNOWN = new Set(["SECRETS_KEY", "PUSH_ALLOW", "SHARDS", "CORE_TOKENS", "DEMO", "HELD_MAX_BYTES"]);
const misspelled = (...names: readonly string[]) =>
  misspelledSettings(Object.fromEntries(names.map((name) => [name, "value"])), KNOWN);

test.each([
  ["SECRET_KEY", "SECRETS_KEY"],
  ["PUSH_ALOW", "PUSH_ALLOW"],
  ["PUSH_ALOWW", "PUSH_ALLOW"],
  ["HELD_MAX_BYETS", "HELD_MAX_BYTES"],
  ["SHARD", "SHARDS"],
  ["CORE_TOKEN", "CORE_TOKENS"],
])("%s is probably %s", (name, setting) => {
  expect(misspelled(name)).toEqual([`${name} is not a setting: did you mean ${setting}?`]);
});

test.each([
  ["SHARDS"],
  ["SHADES"],
  ["DEM"],
  ["DEMOS", "DEMO"],
  ["CORE_TOKEN", "CORE_TOKENS"],
  ["PATH", "HOME"],
  ["PUSH"],
  ["push_allow"],
])("nothing is reported for the variables %s %s", (...names) => {
  expect(misspelled(...names.filter((name) => name !== undefined))).toEqual([]);
});

test("a variable without a value is not reported", () => {
  expect(misspelledSettings({ SECRET_KEY: "", PUSH_ALOW: undefined }, KNOWN)).toEqual([]);
});

test("a long setting with one letter missing, added, replaced or swapped is found, and its value is not shown", () => {
  const LONG = "OTEL_EXPORTER";
  const letter = fc.constantFrom(..."ABCXYZ_");
  forAll(
    fc.nat(LONG.length - 2),
    letter,
    fc.constantFrom("missing", "added", "replaced", "swapped"),
    (at, other, how) => {
      const [before, rest] = [LONG.slice(0, at), LONG.slice(at)];
      const name = {
        missing: before + rest.slice(1),
        added: before + other + rest,
        replaced: before + other + rest.slice(1),
        swapped: `${before}${rest.charAt(1)}${rest.charAt(0)}${rest.slice(2)}`,
      }[how];
      const lines = misspelledSettings({ [name]: "the value" }, new Set([LONG, "PUSH_ALLOW"]));
      expect(lines).toEqual(name === LONG ? [] : [`${name} is not a setting: did you mean ${LONG}?`]);
    },
  );
});
