// Writes the generated parts of docs/events.md, and the example events of docs/bridge-guide.md, from the
// OpenAPI document and its examples. `--check` writes nothing, and fails when a page is out of date. Needs dist/.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { format } from "./format.mjs";

const REFERENCE = "docs/events.md";
const GUIDE = "docs/bridge-guide.md";
const require = createRequire(import.meta.url);
const { openApiDocument } = require("../dist/edge/openapi/document.js");
const {
  INBOUND_EXAMPLES,
  OUTBOUND_EXAMPLES,
  PAGE_EXAMPLES,
} = require("../dist/edge/openapi/example-events.js");
const { INBOUND_EVENTS } = require("../dist/edge/openapi/inbound.js");
const { OUTBOUND_EVENTS } = require("../dist/edge/openapi/outbound-events.js");
const { KIND_RULES } = require("../dist/contract/messages.js");

const { schemas } = openApiDocument().components;
const EXAMPLES = { ...INBOUND_EXAMPLES, ...OUTBOUND_EXAMPLES, page: PAGE_EXAMPLES.events };
/** Schemas that have their own section on the page. */
const SECTIONS = ["Channel", "MemberChannel", "User", "Message", "Button"];
/**
 * Returns the heading of a schema's section. The heading "Message" is avoided, because the page already has a section
 * for the event `message`.
 */
const headingOf = (name) => (name === "Message" ? "Message fields" : name);

const code = (text) => `\`${text}\``;
const cell = (text) => text.replaceAll("|", "\\|").replaceAll("\n", " ");
const tableOf = (headings, rows) =>
  [headings, headings.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map(cell).join(" | ")} |`)
    .join("\n");
const fence = (name) => `\`\`\`json\n${JSON.stringify(EXAMPLES[name])}\n\`\`\``;
const listOf = (items) => items.map(([name, words]) => `- **${name}:** ${words}`).join("\n");

function refName({ $ref = "" }) {
  return $ref.slice($ref.lastIndexOf("/") + 1);
}

function linkTo(name) {
  return `[${name}](#${headingOf(name).toLowerCase().replaceAll(" ", "-")})`;
}

/** Returns the type of a field and its limits, in words. */
function typeWords(schema) {
  const name = refName(schema);
  if (name === "OutboundEvent") return "[outbound events](#outbound-events)";
  if (name !== "") return SECTIONS.includes(name) ? linkTo(name) : typeWords(schemas[name]);
  if ("const" in schema) return code(JSON.stringify(schema.const));
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives !== undefined) return [...new Set(alternatives.map(typeWords))].join(" or ");
  const type = [schema.type].flat().join(" or ");
  if (schema.items?.items !== undefined)
    return `array of rows, each an array of ${typeWords(schema.items.items)}`;
  if (schema.items !== undefined) return `array of ${typeWords(schema.items)}`;
  return [type, ...limitWords(schema)].join(", ");
}

function limitWords({ format: form, minLength = 0, maxLength, pattern = "", not }) {
  const least = minLength > 0 ? `${minLength} to ` : "at most ";
  return [
    ...(form === undefined ? [] : [form]),
    ...(maxLength === undefined ? [] : [`${least}${maxLength} characters`]),
    ...(maxLength === undefined && minLength > 0 ? ["not empty"] : []),
    ...(pattern === "" ? [] : [`matching ${code(pattern)}`]),
    ...(not?.pattern === undefined ? [] : [`not matching ${code(not.pattern)}`]),
  ];
}

/** Returns the table of the fields of an object. The column Required is omitted if all fields are required. */
function fieldTable({ properties = {}, required = [] }, names = Object.keys(properties)) {
  const rows = names.map((name) => {
    const schema = properties[name];
    const words = schema.description ?? schemas[refName(schema)]?.description ?? "";
    return { name, cells: [code(name), typeWords(schema)], words };
  });
  const isComplete = names.every((name) => required.includes(name));
  const hasWords = rows.some(({ words }) => words !== "");
  return tableOf(
    ["Field", "Type", ...(isComplete ? [] : ["Required"]), ...(hasWords ? ["Meaning"] : [])],
    rows.map(({ name, cells, words }) => [
      ...cells,
      ...(isComplete ? [] : [required.includes(name) ? "yes" : "no"]),
      ...(hasWords ? [words] : []),
    ]),
  );
}

function inboundSection([type, { name, description, effects }]) {
  return [
    `### ${type}`,
    listOf([
      ["Direction", "bridge → service."],
      ["When", description],
      ["Effects", effects],
      ["Retries", "The bridge retries with the same `id`, as described above."],
      ["Expiry", "None."],
    ]),
    fieldTable(schemas[name]),
    fence(type),
  ];
}

const HEAD_FIELDS = ["id", "type", "workspace", "sequence", "createdAt", "expiresAt"];

/** Returns a schema for outbound events of all types, from the schema of one type. */
function anyEvent({ properties, ...rest }) {
  const { description } = properties.type;
  return { ...rest, properties: { ...properties, type: { type: "string", description } } };
}

function outboundSection({ type, name, sent, handling, retries, expiry, fields }) {
  const own = Object.keys(fields);
  return [
    `### ${type}`,
    listOf([
      ["Direction", "service → bridge, by push or by poll."],
      ["When", sent],
      ["What the bridge does", handling],
      ["Retries", retries],
      ["Expiry", expiry],
    ]),
    own.length === 0 ? "The event has only the common fields." : fieldTable(schemas[name], own),
    fence(type),
  ];
}

function kindTable() {
  const rows = Object.entries(KIND_RULES).map(([kind, { lifetimeMs, startsPhase }]) => [
    code(kind),
    lifetimeMs === null ? "never" : `after ${lifetimeMs / 60_000} minutes`,
    startsPhase ? "yes" : "no",
  ]);
  return tableOf(["Kind", "Expires", "An update starts a phase"], rows);
}

/** Returns the alternatives of a channel or button, each with the table of its fields. */
function alternatives(name) {
  return schemas[name].oneOf.flatMap((each) => {
    const schema = schemas[refName(each)] ?? each;
    const title = refName(each) === "" ? "" : `**${refName(each)}.** ${schema.description}\n\n`;
    return schema.properties === undefined ? [] : [`${title}${fieldTable(schema)}`];
  });
}

function partSection(name) {
  const schema = schemas[name];
  const parts = schema.oneOf === undefined ? [fieldTable(schema)] : alternatives(name);
  return [`### ${headingOf(name)}`, schema.description, ...parts];
}

const GENERATED = {
  "inbound events": () => Object.entries(INBOUND_EVENTS).flatMap(inboundSection),
  "common fields": () => [fieldTable(anyEvent(schemas.Ping), HEAD_FIELDS)],
  "outbound events": () => OUTBOUND_EVENTS.flatMap(outboundSection),
  kinds: () => [kindTable()],
  parts: () => SECTIONS.flatMap(partSection),
  page: () => [fieldTable(schemas.EventPage), fence("page")],
};

/** Replaces the text between the markers of each generated part. */
function withGenerated(page) {
  let text = page;
  for (const [name, make] of Object.entries(GENERATED)) {
    const [begin, end] = [`<!-- generated: ${name} -->`, `<!-- end of ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`${REFERENCE} lacks the markers ${begin} and ${end}`);
    text = `${text.slice(0, from + begin.length)}\n\n${make().join("\n\n")}\n\n${text.slice(to)}`;
  }
  return text;
}

/** Replaces each JSON block that contains an event or a page of events with the example of the same type. */
function withExamples(page) {
  const missing = new Set(Object.keys(EXAMPLES));
  const text = page.replaceAll(/^```json\n(.*?)^```$/gms, (block, json) => {
    const { type, events } = JSON.parse(json);
    const name = events === undefined ? type : "page";
    if (!(name in EXAMPLES)) return block;
    missing.delete(name);
    return fence(name);
  });
  if (missing.size > 0) throw new Error(`${GUIDE} lacks the examples: ${[...missing].join(", ")}`);
  return text;
}

const outdated = [];
for (const [path, render] of [
  [REFERENCE, withGenerated],
  [GUIDE, withExamples],
]) {
  const page = readFileSync(path, "utf8");
  const fresh = await format(path, render(page));
  if (fresh === page) continue;
  if (process.argv.includes("--check")) outdated.push(path);
  else writeFileSync(path, fresh);
}
if (outdated.length > 0) {
  process.stderr.write(`${outdated.join(", ")}: the events are out of date. Run: npm run events-page\n`);
  process.exitCode = 1;
}
