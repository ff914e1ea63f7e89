import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import * as fc from "fast-check";
import type { OpenApiDocument, Schema } from "../../edge/openapi/shape";
import { ANY_CHARACTER } from "./for-all";

/** @param closed whether validators also reject undocumented fields */
export function contractOf(document: OpenApiDocument, closed = false) {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, strictTypes: false, logger: false });
  addFormats.default(ajv);
  // In the document, `x-well-formed` is only an annotation. These tests also check it.
  ajv.addKeyword({
    keyword: "x-well-formed",
    type: "string",
    schemaType: "boolean",
    validate: (_wanted: boolean, data: string) => data.isWellFormed(),
  });
  ajv.addVocabulary(["x-extensible-enum", "discriminator"]);
  const schemas = structuredClone(document.components.schemas);
  if (closed) for (const schema of Object.values(schemas)) close(schema);
  const compile = (schema: Schema) => {
    const text = JSON.stringify({ $defs: schemas, ...schema });
    return ajv.compile(JSON.parse(text.replaceAll("#/components/schemas/", "#/$defs/")) as object);
  };

  type Method = "get" | "post";
  const responseOf = (path: string, method: Method, status: number) => {
    const response = document.paths[path]?.[method]?.responses[String(status)];
    if (response === undefined) throw new Error(`${method} ${path} does not document ${status}`);
    return response;
  };
  return {
    schema: compile,
    component: (name: string) => compile({ $ref: `#/components/schemas/${name}` }),
    /** Returns a validator for the bodies of answers with this status. Throws if the status is not documented. */
    answer(path: string, method: Method, status: number) {
      const schema = responseOf(path, method, status).content?.["application/json"].schema;
      if (schema === undefined) throw new Error(`${method} ${path} ${status} has no body`);
      return compile(schema);
    },
    headers: (path: string, method: Method, status: number) =>
      Object.fromEntries(
        Object.entries(responseOf(path, method, status).headers ?? {}).map(([name, { schema }]) => [
          name.toLowerCase(),
          compile(schema),
        ]),
      ),
  };
}

function close(schema: Schema): void {
  if (schema.properties !== undefined) Object.assign(schema, { additionalProperties: false });
  for (const inner of Object.values(schema.properties ?? {})) close(inner);
}

/**
 * Returns a function that checks a body against the OpenAPI document, and against the rule for DM channels, which JSON
 * Schema cannot express.
 */
export function inboundRule(document: OpenApiDocument): (body: unknown) => boolean {
  const isEvent = contractOf(document).component("InboundEvent");
  return (body) => {
    if (!isEvent(body)) return false;
    // The channel of a DM must be `dm:` followed by the id of the event's user.
    const { channel, user } = body as Talk;
    const id = typeof channel === "string" ? channel : channel.id;
    return !id.startsWith("dm:") || id === `dm:${user.id}`;
  };
}

interface Talk {
  readonly type: string;
  readonly channel: string | { readonly id: string };
  readonly user: { readonly id: string };
}

/** Generates events that the schema allows. About half of the messages and actions are in the DM channel of their user. */
export function inboundEvents({ components: { schemas } }: OpenApiDocument): fc.Arbitrary<object> {
  return valuesOf(schemas["InboundEvent"] ?? {}, schemas).chain((value) => {
    const event = value as Talk;
    const own = { ...event, channel: `dm:${event.user.id}` };
    return event.type === "command" ? fc.constant(event) : fc.constantFrom(event, own);
  });
}

type Components = Readonly<Record<string, Schema>>;

/** Edge cases of strings: some are just valid, others just invalid. */
const EDGES = fc.constantFrom("dm", "dm:", "DM:u1", " dm:u1", "", "\u0000");
const PLAIN = fc.oneof(fc.string({ unit: ANY_CHARACTER }), EDGES);

/** Generates values that a schema of the document allows. Many of the values are at the limits of the schema. */
function valuesOf(schema: Schema, components: Components): fc.Arbitrary<unknown> {
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
  if (schema === undefined) throw new Error(`the document has no ${ref}`);
  return schema;
}

const OTHERS = [null, true, 0, "", "dm:", "dm:u1", "\ud800", "x", "command", "message", [], {}, { id: "" }];
const LENGTH = fc.constantFrom(127, 128, 129, 131, 132, 512, 513, 2000, 2001, 4000, 4001);
const OTHER = fc.oneof(
  fc.constantFrom<unknown>(...OTHERS),
  fc
    .tuple(fc.constantFrom("y", "😀", "dm:"), LENGTH)
    .map(([start, length]) => [...start.repeat(length)].slice(0, length).join("")),
  fc.jsonValue({ maxDepth: 1 }),
);

/** Generates copies of an object with one change: a field removed, added, renamed or set to another value. */
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
