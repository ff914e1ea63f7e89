import * as fc from "fast-check";
import type { Schema } from "../../edge/openapi-shape";

type Components = Readonly<Record<string, Schema>>;

/** Strings that are likely to be on an edge of a rule. */
const PLAIN = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("dm", "dm:", "DM:u1", " dm:u1", "", "\u0000"),
);

/** Values that a schema of our document allows, more often than chance would those at its limits. */
export function valuesOf(schema: Schema, components: Components): fc.Arbitrary<unknown> {
  const { $ref, type, enum: choices, oneOf, anyOf, properties, required = [], items } = schema;
  const nested = (each: Schema) => valuesOf(each, components);
  if ($ref !== undefined) return nested(found($ref, components));
  if ("const" in schema) return fc.constant(schema.const);
  if (choices !== undefined) return fc.constantFrom(...choices);
  const options = oneOf ?? anyOf;
  if (options !== undefined) return fc.oneof(...options.map(nested));
  if (Array.isArray(type)) return fc.oneof(...type.map((each: string) => nested({ ...schema, type: each })));
  switch (type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 1_000 });
    case "array":
      return fc.array(nested(items ?? {}), { maxLength: 3 });
    case "string":
      return strings(schema);
    case "object":
      return fc.record(
        Object.fromEntries(Object.entries(properties ?? {}).map(([name, each]) => [name, nested(each)])),
        { requiredKeys: [...required] },
      );
    default:
      return fc.jsonValue();
  }
}

function strings({ minLength = 0, maxLength = 100, pattern, not }: Schema): fc.Arbitrary<string> {
  const prefix = pattern?.startsWith("^dm:") === true ? "dm:" : "";
  const short = Math.max(minLength - prefix.length, 0);
  const long = maxLength - prefix.length;
  const ofLength = (length: number) =>
    fc.constantFrom("u", "😀").map((character) => character.repeat(length));
  const any = PLAIN.map((text) => [...text].slice(0, long).join("").padEnd(short, "x"));
  const text = fc.oneof(any, ofLength(short), ofLength(long)).map((rest) => prefix + rest);
  const forbidden = not?.pattern === undefined ? undefined : new RegExp(not.pattern, "u");
  return text.filter((each) => each.isWellFormed() && forbidden?.test(each) !== true);
}

function found(ref: string, components: Components): Schema {
  const schema = components[ref.slice(ref.lastIndexOf("/") + 1)];
  if (schema === undefined) throw new Error(`${ref} is not there`);
  return schema;
}

/** What a value may be swapped for. */
const OTHER = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    "",
    "dm:",
    "dm:u1",
    "\ud800",
    "x",
    "command",
    "message",
    [],
    {},
    { id: "" },
  ),
  fc
    .constantFrom(127, 128, 129, 131, 132, 512, 513, 2000, 2001, 4000, 4001)
    .chain((length) =>
      fc.constantFrom("y", "😀", "dm:").map((start) => [...start.repeat(length)].slice(0, length).join("")),
    ),
  fc.jsonValue({ maxDepth: 1 }),
);

/** The same object with one thing changed somewhere: a field gone, added, renamed or of another value. */
export function nearMissesOf(value: object): fc.Arbitrary<unknown> {
  const paths = pathsOf(value);
  return fc
    .tuple(
      fc.constantFrom(...paths),
      fc.constantFrom("drop", "add", "swap", "rename"),
      OTHER,
      fc.constantFrom("extra", "Id", "name", "replyTo"),
    )
    .map(([path, change, other, name]) => {
      const copy = structuredClone(value) as Record<string, unknown>;
      let at = copy;
      for (const step of path.slice(0, -1)) at = at[step] as Record<string, unknown>;
      const last = path.at(-1) ?? "";
      if (change === "add") at[name] = other;
      else if (change === "swap") at[last] = other;
      else {
        if (change === "rename") at[`${last}x`] = at[last];
        delete at[last];
      }
      return copy;
    });
}

function pathsOf(value: object): string[][] {
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) => [
    [key],
    ...(typeof inner === "object" && inner !== null ? pathsOf(inner).map((rest) => [key, ...rest]) : []),
  ]);
}
