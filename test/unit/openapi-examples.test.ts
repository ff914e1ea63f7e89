import { sign } from "../../kit/signature";
import { INBOUND_TYPES, OUTBOUND_TYPES } from "../../contract/messages";
import { openApiDocument } from "../../edge/openapi/document";
import { INBOUND_EXAMPLES, PAGE_EXAMPLES, PAGE_SIGNATURE } from "../../edge/openapi/example-events";
import type { Content, Header, Operation, Parameter, Schema } from "../../edge/openapi/shape";
import { contractOf } from "../harness/openapi";
import { outcomeOf } from "./inbound-event-model";

const document = openApiDocument();
const contract = contractOf(document, true);

type Example = readonly [where: string, schema: Schema, value: unknown];

/** Returns the examples of a body. If the body has none, returns an example without a value, so that a test fails. */
function examplesOf(where: string, content: Content | undefined): readonly Example[] {
  if (content === undefined) return [];
  const { schema, examples } = content["application/json"];
  const values = Object.entries(examples);
  if (values.length === 0) return [[`${where}: no example`, schema, undefined]];
  return values.map(([name, { value }]) => [`${where}: ${name}`, schema, value]);
}

const valuesOf = (where: string, parts: readonly (readonly [string, Parameter | Header])[]) =>
  parts.map(([name, { schema, example }]): Example => [`${where}, ${name}`, schema, example]);

function operationExamples(where: string, operation: Operation): readonly Example[] {
  const { parameters, requestBody, responses } = operation;
  return [
    ...valuesOf(
      where,
      parameters.map((each) => [each.name, each]),
    ),
    ...examplesOf(where, requestBody?.content),
    ...Object.entries(responses).flatMap(([status, { headers = {}, content }]) => [
      ...valuesOf(`${where} ${status}`, Object.entries(headers)),
      ...examplesOf(`${where} ${status}`, content),
    ]),
  ];
}

const operations = [...Object.entries(document.paths), ...Object.entries(document.webhooks)].flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation] as const),
);
const all = operations.flatMap(([where, operation]) => operationExamples(where, operation));

test.each(all)("the document has an example that its schema allows: %s", (_where, schema, value) => {
  const isValid = contract.schema(schema);
  expect([isValid(value), isValid.errors]).toEqual([true, null]);
});

test("the document has an example of every event, and of every answer that has a body", () => {
  const wheres = new Set(all.map(([where]) => where));
  for (const type of INBOUND_TYPES) expect(wheres).toContain(`post /hooks/{workspaceId}: ${type}`);
  for (const type of OUTBOUND_TYPES) expect(wheres).toContain(`post ${type}: ${type}`);
  const answers = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      Object.keys(responses).map((status) => `${method} ${path} ${status}: `),
    ),
  );
  expect(answers.length).toBeGreaterThan(15);
  for (const answer of answers) expect([...wheres].some((where) => where.startsWith(answer))).toBe(true);
});

test.each(Object.entries(INBOUND_EXAMPLES))(
  "the edge accepts the example of the event %s",
  (_type, event) => {
    expect(outcomeOf(event)).toBe("valid");
  },
);

test("the example of a page's signature is valid for the example of a page", () => {
  const [, seconds = ""] = /^t=(\d+),/.exec(PAGE_SIGNATURE) ?? [];
  const raw = JSON.stringify(PAGE_EXAMPLES.events);
  expect(sign(raw, ["example-secret"], Number(seconds) * 1_000)).toBe(PAGE_SIGNATURE);
});
