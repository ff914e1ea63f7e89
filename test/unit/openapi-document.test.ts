import { createConfig, lintFromString } from "@redocly/openapi-core";
import * as fc from "fast-check";
import { MESSAGE_KINDS } from "../../bridge/events";
import { openApiDocument } from "../../edge/openapi";
import { readInboundEvent } from "../../edge/read-inbound-event";
import { readPollQuery } from "../../edge/read-poll-query";
import { nearMissesOf } from "../harness/from-schema";
import { contractOf, inboundEvents, inboundRule } from "../harness/openapi";
import { ONE_OF_EACH } from "../harness/sample-events";
import { faultByTable } from "./inbound-event-model";

const document = openApiDocument("https://hooks.example");
const { schemas } = document.components;
const contract = contractOf(document);
const documentAllows = inboundRule(document);
const edgeAllows = (body: unknown) => "event" in readInboundEvent(body);
const events = inboundEvents(document);

test("the document passes the strict rules of an OpenAPI 3.1 linter", async () => {
  // A local address stands where no public one is known.
  const rules = { "no-server-example.com": "off" } as const;
  const config = await createConfig({ extends: ["recommended-strict"], rules });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  const found = problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]);
  expect(found).toEqual([]);
});

test("the document is of the contract's version, in plain JSON", () => {
  expect(document.openapi).toBe("3.1.0");
  expect(document.info.version).toBe("1.0.0-beta");
  expect(JSON.parse(JSON.stringify(document))).toEqual(document);
});

test("the schema of inbound events allows what the edge takes, and nothing else: events", () => {
  fc.assert(
    fc.property(events, (event) => {
      expect(edgeAllows(event)).toBe(documentAllows(event));
      expect(faultByTable(event) === "valid").toBe(documentAllows(event));
    }),
    { numRuns: 1_000 },
  );
});

test("the schema of inbound events allows what the edge takes, and nothing else: near misses", () => {
  const seen = { taken: 0, refused: 0 };
  fc.assert(
    fc.property(events.chain(nearMissesOf), (body) => {
      expect(edgeAllows(body)).toBe(documentAllows(body));
      seen[edgeAllows(body) ? "taken" : "refused"]++;
    }),
    { numRuns: 2_000 },
  );
  // Near means near: some of them are still right.
  expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(100);
});

test("the query parameters allow what the edge takes, and nothing else", () => {
  const parameters = document.paths["/hooks/{workspaceId}/events"]?.get?.parameters ?? [];
  const query = parameters.filter(({ in: where }) => where === "query");
  expect(query.map(({ name }) => name)).toEqual(["after", "limit"]);
  const schemaOf = Object.fromEntries(query.map(({ name, schema }) => [name, schema]));
  const validators = contractOf({ ...document, components: { ...document.components, schemas: schemaOf } });
  const isValid = Object.fromEntries(query.map(({ name }) => [name, validators.component(name)]));
  const edges = [
    "latest",
    "Latest",
    "",
    "0",
    "1",
    "100",
    "101",
    "-1",
    "1.5",
    "1e1",
    "9".repeat(18),
    "9".repeat(19),
  ];
  const value = fc.oneof(fc.constantFrom(...edges), fc.integer().map(String), fc.string());
  fc.assert(
    fc.property(fc.constantFrom("after", "limit"), value, (name, text) => {
      // Zeros before a number are of neither: a schema knows numbers, not how they are written.
      fc.pre(name !== "limit" || !/^0+[0-9]/.test(text));
      const given = name === "limit" && String(Number(text)) === text ? Number(text) : text;
      const taken = "query" in readPollQuery(new URLSearchParams({ [name]: text }).toString());
      expect([name, text, taken]).toEqual([name, text, isValid[name]?.(given)]);
    }),
    { numRuns: 1_000 },
  );
});

test("the kinds of messages are the contract's", () => {
  expect(schemas["Message"]?.properties?.["kind"]?.["x-extensible-enum"]).toEqual(MESSAGE_KINDS);
});

test.each(Object.entries(ONE_OF_EACH))("a webhook describes %s, and its schema allows one", (type, event) => {
  const { requestBody, parameters } = document.webhooks[type]?.post ?? {};
  expect(parameters?.map(({ name }) => name)).toEqual(["Service-Event-Id", "Service-Workspace"]);
  const ref = requestBody?.content["application/json"].schema.$ref ?? "";
  const name = ref.slice(ref.lastIndexOf("/") + 1);
  expect(contract.component(name)(event)).toBe(true);
  expect(contract.component("OutboundEvent")(event)).toBe(true);
  expect(contract.component(name)({ ...event, id: "evt_1" })).toBe(false);
  expect(contract.component(name)({ ...event, later: "field" })).toBe(true);
});
