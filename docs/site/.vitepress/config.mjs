import { createHash } from "node:crypto";
import { join } from "node:path";
import { anchorOf, mapLinks } from "../markdown.mjs";
import { resolveLink } from "../links.mjs";
import { readRepository } from "../repository.mjs";
import { sectionsOf, nameOf } from "../sections.mjs";
import { siteLink, sitePath } from "../site-paths.mjs";

const ROOT = join(import.meta.dirname, "../../..");
const repository = readRepository(ROOT);
const { readers, decisions, rest } = sectionsOf(repository);
const pageOf = new Map(repository.pages.map((path) => [sitePath(path), path]));

const items = (pages) =>
  pages.map((path) => ({ text: nameOf(repository, path), link: `/${sitePath(path)}` }));
const sidebarSection = ({ title, pages }) => ({ text: title, items: items(pages) });

/** Makes the links between files of the repository work in the site. */
function siteLinks(md) {
  md.core.ruler.push("site-links", ({ tokens, env }) => {
    const page = pageOf.get(env.relativePath);
    if (page === undefined) return;
    mapLinks(tokens, (link) => {
      const target = resolveLink(repository, page, link);
      return target.kind === "elsewhere" || link.startsWith("#") ? link : siteLink(target);
    });
  });
}

/** Replaces each Mermaid block with a component, which draws the diagram in the browser. */
function diagrams(md) {
  const fence = md.renderer.rules.fence;
  md.renderer.rules.fence = (...all) => {
    const [tokens, index] = all;
    const { info, content } = tokens[index];
    if (info.trim() !== "mermaid") return fence(...all);
    return `<Diagram source="${encodeURIComponent(content)}" />`;
  };
}

/** Pages for few readers. Only their headings are in the search index, which each reader downloads. */
const HEADINGS_ONLY = /^(?:CHANGELOG|CODE_OF_CONDUCT|docs\/decisions\/|test\/|bench\/)/;

/** Returns the HTML of a page for the search index. */
function searchable(text, env, md) {
  const html = md.render(text, env);
  if (env.frontmatter?.search === false) return "";
  return HEADINGS_ONLY.test(env.relativePath) ? (html.match(/<h\d.*?<\/h\d>/gs) ?? []).join("\n") : html;
}

/** Adds a content security policy: it blocks requests to other hosts, and allows only the scripts that the build wrote. */
function withPolicy(html) {
  const inline = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>(.*?)<\/script>/gs)].map(([, code]) => code);
  const hashes = inline.map((code) => `'sha256-${createHash("sha256").update(code).digest("base64")}'`);
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${hashes.join(" ")}`,
    // VitePress, and the diagrams, set styles in attributes and elements.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return html.replace(
    '<meta charset="utf-8">',
    `$&\n    <meta http-equiv="Content-Security-Policy" content="${policy}">`,
  );
}

export default {
  lang: "en",
  title: "Chat bridge",
  description: "Runs games in chat tools through bridges: signed events in, signed events out.",
  head: [["link", { rel: "icon", href: "/favicon.svg", type: "image/svg+xml" }]],
  srcDir: "../../dist/docs-site-pages",
  outDir: "../../dist/docs-site",
  cacheDir: "./node_modules/.cache",
  // Moves the hashes of all pages from each page to one script file.
  metaChunk: true,
  transformHtml: withPolicy,
  markdown: {
    anchor: { slugify: anchorOf },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config(md) {
      siteLinks(md);
      diagrams(md);
    },
  },
  themeConfig: {
    logo: "/favicon.svg",
    outline: { level: [2, 3] },
    sidebar: [rest, ...readers, decisions].map(sidebarSection),
    nav: readers.map(({ does, pages: [first] }) => ({ text: does, link: `/${sitePath(first)}` })),
    // theme/search.js sets how the browser searches.
    search: { provider: "local", options: { _render: searchable, miniSearch: {} } },
  },
};
