import type { OpenApiDocument, Operation } from "../openapi/shape";

/** Placeholders in the built page for the parts that depend on the OpenAPI document. */
const TITLE = /<title>[^<]*<\/title>/;
const TEXT = /<main id="docs"><\/main>/;
const ESCAPED: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
/** Guides for readers who start to write a bridge, with the text that follows each link. */
const GUIDES: readonly (readonly [href: string, title: string, more: string])[] = [
  ["/guides/events", "Event reference", ", with an example of each event"],
  ["/guides/bridge-kit", "The kit for bridges", " in TypeScript"],
  ["/guides/troubleshooting", "Troubleshooting", ", with the causes of each error"],
  ["/guides", "All guides", ""],
  ["openapi.json", "The same reference as OpenAPI 3.1", ""],
];

/**
 * Returns the page of the API reference with the text that readers need first: how requests are signed, and a list of
 * all calls. The page shows the details of each call only after its large script has loaded.
 *
 * @param page the built page
 * @throws Error when the page has no place for the text
 */
export function referencePage(page: string, document: OpenApiDocument): string {
  if (!TITLE.test(page) || !TEXT.test(page)) throw new Error("docs.html has no place for its text");
  const { title, version } = document.info;
  return page
    .replace(TITLE, () => `<title>${escape(`${title} ${version}: reference`)}</title>`)
    .replace(TEXT, () => `<main id="docs">\n${textOf(document)}\n</main>`);
}

function textOf({ info, servers, tags, paths, webhooks, components }: OpenApiDocument): string {
  const calls = Object.entries(paths).flatMap(([path, { post, get }]) => [
    ...(post === undefined ? [] : [{ operation: post, what: `POST ${path}`, group: post.tags[0] }]),
    ...(get === undefined ? [] : [{ operation: get, what: `GET ${path}`, group: get.tags[0] }]),
  ]);
  const pushes = Object.entries(webhooks).map(([type, { post }]) => {
    return { operation: post, what: type, group: "webhooks" };
  });
  const listed = [...calls, ...pushes];
  const sections = tags.map(({ name, description }) => {
    const items = listed.filter(({ operation }) => operation.tags.includes(name)).map(itemOf);
    return `<section><h3>${inline(description.replace(/\.$/, ""))}</h3><ul>${items.join("")}</ul></section>`;
  });
  return [
    `<h1>${escape(info.title)} <small>${escape(info.version)}</small></h1>`,
    paragraph(info.description),
    ...servers.map(({ url }) => paragraph(`Base URL: \`${url}\``)),
    `<p>To begin a bridge, read <a href="/guides/bridge-guide">Writing a bridge</a>. See also:</p>`,
    `<ul>${GUIDES.map(([href, title, more]) => `<li><a href="${href}">${title}</a>${more}</li>`).join("")}</ul>`,
    "<h2>Authentication</h2>",
    ...Object.values(components.securitySchemes).map(({ name, description }) =>
      paragraph(`Header \`${name}\`: ${description}`),
    ),
    "<h2>Requests and pushes</h2>",
    `<div class="calls">${sections.join("\n")}</div>`,
    "<h2>Details</h2>",
    '<div id="details"><noscript><p>Without JavaScript, read the details in <a href="openapi.json">openapi.json</a>.</p></noscript></div>',
  ].join("\n");
}

/**
 * Returns the list item of a call. The item's link has the form of Swagger UI's links, so it opens the details of the
 * call.
 */
function itemOf({
  operation: { operationId, summary },
  what,
  group = "",
}: {
  readonly operation: Operation;
  readonly what: string;
  readonly group: string | undefined;
}): string {
  const words = `<code>${escape(what)}</code> ${escape(summary)}`;
  return `<li><a href="#/${group}/${operationId}">${words}</a></li>`;
}

const paragraph = (markdown: string): string => `<p>${inline(markdown)}</p>`;

/** Returns the HTML of a text. The only Markdown in the text is code between backticks. */
function inline(markdown: string): string {
  return escape(markdown).replaceAll(/`([^`]+)`/g, "<code>$1</code>");
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ESCAPED[character] ?? "");
}
