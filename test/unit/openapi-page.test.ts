import { openApiDocument } from "../../edge/openapi/document";
import { html } from "../../edge/openapi/html";
import { renderOpenApiPage } from "../../edge/openapi/page";

const document = openApiDocument("https://hooks.example");
const page = renderOpenApiPage(document);

test("the page has every operation, webhook, status and field of the document", () => {
  const operations = [
    ...Object.values(document.paths).flatMap((methods) => Object.values(methods)),
    ...Object.values(document.webhooks).map(({ post }) => post),
  ];
  for (const { operationId, summary, responses } of operations) {
    const section = page.split(`<h2 id="${operationId}">`)[1]?.split("</section>")[0] ?? "";
    expect(section).toContain(summary);
    for (const status of Object.keys(responses)) expect(section).toContain(`<th scope="row">${status}</th>`);
  }
  for (const [name, { properties = {} }] of Object.entries(document.components.schemas)) {
    const section = page.split(`<h3 id="${name}">`)[1]?.split("</section>")[0] ?? "";
    for (const field of Object.keys(properties)) expect(section).toContain(`<code>${field}</code>`);
  }
});

test("every link within the page has a target, and every id is unique", () => {
  const ids = [...page.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id);
  const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(links.filter((id) => !ids.includes(id))).toEqual([]);
  expect(links.length).toBeGreaterThan(20);
});

test("the page runs no script, loads only its stylesheet, and declares its language", () => {
  expect(page).not.toMatch(/<script|<style|\son\w+=|\sstyle=|javascript:|<img|<iframe/i);
  expect([...page.matchAll(/<link [^>]*href="([^"]+)"/g)].map(([, href]) => href)).toEqual(["docs.css"]);
  expect(page).toMatch(/^<!doctype html>\s*<html lang="en">/);
});

test("texts are escaped, also in attributes", () => {
  const text = `<b> & "x" 'y'`;
  expect(html`<i title="${text}">${text}</i>`.text).toBe(
    '<i title="&lt;b&gt; &amp; &quot;x&quot; &#39;y&#39;">&lt;b&gt; &amp; &quot;x&quot; &#39;y&#39;</i>',
  );
  expect(renderOpenApiPage(openApiDocument('https://a.example/"><script>'))).not.toContain("<script");
});
