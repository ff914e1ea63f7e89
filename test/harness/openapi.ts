import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import * as fc from "fast-check";
import type { OpenApiDocument, Schema } from "../../edge/openapi-shape";
import { valuesOf } from "./from-schema";

/** A document's schemas as validators. */
export interface Contract {
  /** By the name of a component. */
  component(name: string): ValidateFunction;
  /** What answers of a status look like; fails for a status that is not documented. */
  answer(path: string, method: "get" | "post", status: number): ValidateFunction;
  /** Headers that answers of a status have. */
  headers(path: string, method: "get" | "post", status: number): Readonly<Record<string, ValidateFunction>>;
}

/** @param closed whether objects may only have the fields that are documented */
export function contractOf(document: OpenApiDocument, closed = false): Contract {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, strictTypes: false, logger: false });
  addFormats.default(ajv);
  // An annotation in the document; here it is looked at.
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

  const responseOf = (path: string, method: "get" | "post", status: number) => {
    const response = document.paths[path]?.[method]?.responses[String(status)];
    if (response === undefined) throw new Error(`${method} ${path} does not document ${status}`);
    return response;
  };
  return {
    component: (name) => compile({ $ref: `#/components/schemas/${name}` }),
    answer(path, method, status) {
      const schema = responseOf(path, method, status).content?.["application/json"].schema;
      if (schema === undefined) throw new Error(`${method} ${path} ${status} has no body`);
      return compile(schema);
    },
    headers: (path, method, status) =>
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

/** Whether the document allows an inbound event: its schema does, and so does what JSON Schema cannot say. */
export function inboundRule(document: OpenApiDocument): (body: unknown) => boolean {
  const isEvent = contractOf(document).component("InboundEvent");
  return (body) => isEvent(body) && !namesAnotherMember(body as Talk);
}

interface Talk {
  readonly channel: string | { readonly id: string };
  readonly user: { readonly id: string };
}

/** A DM is the one of the event's own user. */
function namesAnotherMember({ channel, user }: Talk): boolean {
  const id = typeof channel === "string" ? channel : channel.id;
  return id.startsWith("dm:") && id !== `dm:${user.id}`;
}

/** The events that the schema allows; DMs are often enough of the event's own user. */
export function inboundEvents({ components: { schemas } }: OpenApiDocument): fc.Arbitrary<object> {
  return valuesOf(schemas["InboundEvent"] ?? {}, schemas).chain((value) => {
    const event = value as Talk & { readonly type: string };
    const own = { ...event, channel: `dm:${event.user.id}` };
    return event.type === "command" ? fc.constant(event) : fc.constantFrom(event, own);
  });
}
