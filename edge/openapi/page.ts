import { EMPTY, html, prose, type Html } from "./html";
import { fieldsTable, typeWords } from "./page-schema";
import type { OpenApiDocument, Operation, Parameter, Response, Schema } from "./shape";

/** The path of the page's style sheet, relative to the page. The page loads nothing else and runs no scripts. */
export const OPENAPI_STYLE_PATH = "docs.css";

/** Renders the document as a page of plain HTML, without scripts. */
export function renderOpenApiPage(document: OpenApiDocument): string {
  const { info, servers, paths, webhooks, components } = document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      operation,
      name: operation.summary,
      title: html`<code>${method.toUpperCase()} ${path}</code>`,
    })),
  );
  const pushes = Object.entries(webhooks).map(([type, { post }]) => ({
    operation: post,
    name: `${type}: ${post.summary}`,
    title: html`<code>${type}</code>`,
  }));
  const sections = [...operations, ...pushes].map(({ operation, name, title }) => ({
    id: operation.operationId,
    name,
    html: operationSection(operation, title),
  }));
  const schemas = Object.entries(components.schemas);
  const schemes = Object.values(components.securitySchemes);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${info.title} ${info.version}: reference</title>
        <link rel="stylesheet" href="${OPENAPI_STYLE_PATH}" />
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header>
          <h1>${info.title} <small>${info.version}</small></h1>
          <p>${prose(info.description)}</p>
          <p>
            Base URL: ${servers.map(({ url }) => html`<code>${url}</code> `)} · also available as
            <a href="openapi.json">OpenAPI 3.1</a>
          </p>
        </header>
        <nav aria-label="Contents">
          <ul>
            <li><a href="#authentication">Authentication</a></li>
            ${sections.map(({ id, name }) => html`<li><a href="#${id}">${name}</a></li>`)}
            <li>
              <a href="#shapes">Shapes</a>
              <ul>
                ${schemas.map(([name]) => html`<li><a href="#${name}">${name}</a></li>`)}
              </ul>
            </li>
          </ul>
        </nav>
        <main id="content" tabindex="-1">
          <section aria-labelledby="authentication">
            <h2 id="authentication">Authentication</h2>
            ${schemes.map(
              ({ name, description }) => html`<p>Header <code>${name}</code>: ${prose(description)}</p>`,
            )}
          </section>
          ${sections.map((section) => section.html)}
          <section aria-labelledby="shapes">
            <h2 id="shapes">Shapes</h2>
            ${schemas.map(([name, schema]) => shapeSection(name, schema))}
          </section>
        </main>
      </body>
    </html> `.text;
}

function operationSection({ operationId, summary, description, ...rest }: Operation, title: Html): Html {
  const { parameters, requestBody, responses } = rest;
  const body = requestBody?.content["application/json"].schema;
  return html`<section aria-labelledby="${operationId}">
    <h2 id="${operationId}">${summary}</h2>
    <p class="call">${title}</p>
    <p>${prose(description)}</p>
    ${parametersTable(parameters)}
    ${
      body === undefined
        ? EMPTY
        : html`<h3>Body</h3>
            <p>JSON: ${typeWords(body)}</p>`
    }
    <h3>Answers</h3>
    ${responsesTable(responses)}
  </section>`;
}

function parametersTable(parameters: readonly Parameter[]): Html {
  return html`<h3>Parameters</h3>
    <div class="wide" tabindex="0" role="group" aria-label="Parameters">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">In</th>
            <th scope="col">Description</th>
          </tr>
        </thead>
        <tbody>
          ${parameters.map(
            ({ name, in: where, required, schema, description }) =>
              html`<tr>
                <th scope="row"><code>${name}</code>${required ? "" : " (optional)"}</th>
                <td>${where}</td>
                <td>${typeWords(schema)}. ${prose(description)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
}

function responsesTable(responses: Readonly<Record<string, Response>>): Html {
  return html`<div class="wide" tabindex="0" role="group" aria-label="Answers">
    <table>
      <thead>
        <tr>
          <th scope="col">Status</th>
          <th scope="col">When</th>
          <th scope="col">Body and headers</th>
        </tr>
      </thead>
      <tbody>
        ${Object.entries(responses).map(([status, response]) => {
          const schema = response.content?.["application/json"].schema;
          return html`<tr>
            <th scope="row">${status}</th>
            <td>${prose(response.description)}</td>
            <td>
              ${schema === undefined ? "any body" : typeWords(schema)}${Object.entries(
                response.headers ?? {},
              ).map(([name, { description }]) => html`; <code>${name}</code>: ${prose(description)}`)}
            </td>
          </tr>`;
        })}
      </tbody>
    </table>
  </div>`;
}

function shapeSection(name: string, schema: Schema): Html {
  const { description = "", properties } = schema;
  return html`<section aria-labelledby="${name}">
    <h3 id="${name}">${name}</h3>
    <p>${prose(description)}</p>
    ${properties === undefined ? html`<p>${typeWords(schema)}</p>` : fieldsTable(name, schema)}
  </section>`;
}
