import { html, prose, type Html } from "./html";
import type { Schema } from "./shape";

/** A table of the fields of an object. */
export function fieldsTable(
  name: string,
  { properties = {}, required = [], additionalProperties }: Schema,
): Html {
  return html`<div class="wide" tabindex="0" role="group" aria-label="Fields of ${name}">
      <table>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Type</th>
            <th scope="col">Description</th>
          </tr>
        </thead>
        <tbody>
          ${Object.entries(properties).map(
            ([field, schema]) =>
              html`<tr>
                <th scope="row"><code>${field}</code>${required.includes(field) ? "" : " (optional)"}</th>
                <td>${typeWords(schema)}</td>
                <td>${prose(schema.description ?? "")}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${additionalProperties === false ? html`<p>Other fields are refused.</p>` : html`<p>Other fields may be added.</p>`}`;
}

/** Describes the values that a schema allows, in a few words. */
export function typeWords(schema: Schema): Html {
  const { $ref, type, oneOf, anyOf, allOf, items, properties, required = [] } = schema;
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf("/") + 1);
    return html`<a href="#${name}">${name}</a>`;
  }
  if ("const" in schema) return html`<code>${JSON.stringify(schema.const)}</code>`;
  const [whole] = allOf ?? [];
  if (whole !== undefined) return typeWords(whole);
  const options = oneOf ?? anyOf;
  if (options !== undefined) {
    return html`${options.map((option, index) => html`${index === 0 ? "" : " or "}${typeWords(option)}`)}`;
  }
  if (items !== undefined) return html`array of ${typeWords(items)}`;
  if (properties !== undefined) {
    return html`object
    {${Object.entries(properties).map(
      ([name, inner], index) =>
        html`${index === 0 ? "" : ", "}<code>${name}</code>${required.includes(name) ? "" : "?"}:
        ${typeWords(inner)}`,
    )}}`;
  }
  const name = Array.isArray(type) ? type.join(" or ") : typeof type === "string" ? type : "any";
  return html`${[name, ...limits(schema)].join(", ")}${known(schema)}`;
}

function limits({
  format,
  pattern,
  not,
  minLength,
  maxLength,
  minimum,
  maximum,
  ...more
}: Schema): readonly string[] {
  return [
    ...(format === undefined ? [] : [format]),
    ...range(minLength, maxLength, " characters"),
    ...range(minimum, maximum, ""),
    ...(pattern === undefined ? [] : [`matches ${pattern}`]),
    ...(not?.pattern === undefined ? [] : [`does not match ${not.pattern}`]),
    ...(more.default === undefined ? [] : [`default ${JSON.stringify(more.default)}`]),
  ];
}

function range(from: number | undefined, to: number | undefined, of: string): readonly string[] {
  if (to === undefined) return from === undefined ? [] : [`at least ${from}${of}`];
  return [from === undefined || from === 0 ? `at most ${to}${of}` : `${from} to ${to}${of}`];
}

function known(schema: Schema): readonly Html[] {
  const values = schema["x-extensible-enum"] ?? [];
  return values.map((value, index) => html`${index === 0 ? ": " : ", "}<code>${value}</code>`);
}
