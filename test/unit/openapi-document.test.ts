import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { MESSAGE_KINDS } from "../../kit/events";
import { openApiDocument } from "../../edge/openapi/document";
import { readPollQuery } from "../../edge/public/read-poll-query";
import { forMany } from "../harness/for-all";
import { contractOf, inboundEvents, inboundRule, nearMissesOf } from "../harness/openapi";
import { ONE_OF_EACH } from "../harness/sample-events";
import { faultByTable, outcomeOf } from "./inbound-event-model";

const document = openApiDocument("https://hooks.example");
const { schemas } = document.components;
const contract = contractOf(document);
const documentAllows = inboundRule(document);
const events = inboundEvents(document);

/** Prints the problems of the document on stdin. Jest cannot load the linter, which is an ES module. */
const LINTER = `
  import { text } from "node:stream/consumers";
  import { createConfig, lintFromString } from "@redocly/openapi-core";
  const config = await createConfig({ extends: ["recommended-strict"] });
  const problems = await lintFromString({ source: await text(process.stdin), config });
  const found = problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]);
  console.log(JSON.stringify(found));
`;

test("the document has the version of the contract, and passes the strict rules of an OpenAPI linter", () => {
  expect([document.openapi, document.info.version]).toEqual(["3.1.0", "1.0.0-beta"]);
  const problemsOf = (source: object): unknown => {
    const args = ["--input-type=module", "--eval", LINTER];
    const options = { cwd: __dirname, input: JSON.stringify(source), encoding: "utf8" } as const;
    return JSON.parse(execFileSync(process.execPath, args, options));
  };
  expect(problemsOf(document)).toEqual([]);
  expect(problemsOf({ ...document, info: {} })).not.toEqual([]);
});

// contract: inbound-types, inbound-required, inbound-unknown-fields, inbound-dm-400, check-7
test("the edge accepts exactly what the schema of inbound events allows, and otherwise names the first invalid field", () => {
  const seen = { taken: 0, refused: 0 };
  const misses = events.chain(nearMissesOf);
  const body = fc.oneof<fc.MaybeWeightedArbitrary<unknown>[]>(
    { weight: 10, arbitrary: events },
    { weight: 20, arbitrary: misses },
    { weight: 20, arbitrary: misses.chain((once) => nearMissesOf(once as object)) },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
  forMany(2_000, body, (given) => {
    const outcome = outcomeOf(given);
    expect(outcome).toBe(faultByTable(JSON.parse(JSON.stringify(given))));
    expect(outcome === "valid").toBe(documentAllows(given));
    seen[outcome === "valid" ? "taken" : "refused"]++;
  });
  // The test is useful only if many of the bodies are valid and many others are invalid.
  expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan((seen.taken + seen.refused) / 20);
});

test("the schemas of the query parameters allow exactly what the edge accepts", () => {
  const parameters = document.paths["/hooks/{workspaceId}/events"]?.get?.parameters ?? [];
  const query = parameters.filter(({ in: where }) => where === "query");
  expect(query.map(({ name }) => name)).toEqual(["after", "limit"]);
  const schemaOf = Object.fromEntries(query.map(({ name, schema }) => [name, schema]));
  const validators = contractOf({ ...document, components: { ...document.components, schemas: schemaOf } });
  const isValid = Object.fromEntries(query.map(({ name }) => [name, validators.component(name)]));
  const edges = ["", "9".repeat(18), "9".repeat(19), ..."latest Latest 0 1 100 101 -1 1.5 1e1".split(" ")];
  const value = fc.oneof(fc.constantFrom(...edges), fc.integer().map(String), fc.string());
  forMany(1_000, fc.constantFrom("after", "limit"), value, (name, text) => {
    // Limits with leading zeros are skipped, because a schema describes numbers, not their notation.
    fc.pre(name !== "limit" || !/^0+[0-9]/.test(text));
    const given = name === "limit" && String(Number(text)) === text ? Number(text) : text;
    const { $case } = readPollQuery(new URLSearchParams({ [name]: text }).toString());
    expect([name, text, $case === "query"]).toEqual([name, text, isValid[name]?.(given)]);
  });
});

test("the document lists the message kinds of the contract", () => {
  expect(schemas["Message"]?.properties?.["kind"]?.["x-extensible-enum"]).toEqual(MESSAGE_KINDS);
});

test.each(Object.entries(ONE_OF_EACH))(
  "the document has a webhook for %s, and the webhook's schema allows such an event",
  (type, event) => {
    const { requestBody, parameters } = document.webhooks[type]?.post ?? {};
    expect(parameters?.map(({ name }) => name)).toEqual(["Service-Event-Id", "Service-Workspace"]);
    const ref = requestBody?.content["application/json"].schema.$ref ?? "";
    const name = ref.slice(ref.lastIndexOf("/") + 1);
    expect(contract.component(name)(event)).toBe(true);
    expect(contract.component("OutboundEvent")(event)).toBe(true);
    expect(contract.component(name)({ ...event, id: "evt_1" })).toBe(false);
    expect(contract.component(name)({ ...event, later: "field" })).toBe(true);
  },
);
