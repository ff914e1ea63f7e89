import MarkdownIt from "markdown-it";
import type { Heading, RenderedGuide } from "./render-guide.mts";

export interface GuideLink {
  readonly href: string;
  readonly title: string;
}
/** The guides for one kind of reader. */
export interface GuideGroup {
  readonly title: string;
  readonly links: readonly GuideLink[];
}

/** A page with fewer headings has no table of contents. */
const HEADINGS_LEAST = 3;
/** The links at the top of every page. */
const PAGES: readonly GuideLink[] = [
  { href: "/", title: "Workspaces" },
  { href: "/guides", title: "All guides" },
  { href: "/docs", title: "API reference" },
];
const { escapeHtml } = new MarkdownIt().utils;

/** Returns the HTML page of a guide. `href` is the address of the page. */
export function guidePage(guide: RenderedGuide, href: string, groups: readonly GuideGroup[]): string {
  const contents = guide.headings.length < HEADINGS_LEAST ? "" : contentsOf(guide.headings);
  const footer = `<footer class="guide-foot"><nav aria-label="All guides">${listsOf(groups, href)}</nav></footer>`;
  return frame(guide.title, href, contents, guide.html, footer);
}

/** Returns the HTML page that lists all guides. */
export function indexPage(groups: readonly GuideGroup[]): string {
  return frame("Guides", "/guides", "", `<h1>Guides</h1><div class="groups">${listsOf(groups)}</div>`, "");
}

function frame(title: string, href: string, contents: string, main: string, footer: string): string {
  const pages = PAGES.map((page) => linkOf(page, href)).join("");
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${escapeHtml(title)} · Chat bridge</title>
    <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="/guides/guides.css" />
    <script src="/theme.js"></script>
    <script src="/guides/copy-code.js" defer></script>
  </head>
  <body>
    <a class="skip" href="#main">Skip to the page</a>
    <header class="guide-head">
      <a class="guide-brand" href="/">Chat bridge</a>
      <nav aria-label="Pages">${pages}</nav>
    </header>
    <div class="guide-body">
${contents}
      <main class="guide" id="main" tabindex="-1">
${main}
      </main>
    </div>
    ${footer}
    <p class="unseen" id="copied" role="status"></p>
  </body>
</html>
`;
}

function linkOf({ href, title }: GuideLink, here = ""): string {
  const current = href === here ? ' aria-current="page"' : "";
  return `<a href="${href}"${current}>${escapeHtml(title)}</a>`;
}

function listsOf(groups: readonly GuideGroup[], here = ""): string {
  return groups
    .map(({ title, links }) => {
      return `<section><h2>${escapeHtml(title)}</h2>${listOf(links.map((link) => linkOf(link, here)))}</section>`;
    })
    .join("\n");
}

/**
 * Returns two copies of a page's table of contents: an open one beside the text for wide windows, and a folded one
 * above the text for narrow windows. The stylesheet always hides one of the two, also from screen readers.
 */
function contentsOf(headings: readonly Heading[]): string {
  const list = listOf(
    headings.map(({ level, id, text }) => {
      return `<a class="level-${level}" href="#${id}">${escapeHtml(text)}</a>`;
    }),
  );
  return `<nav class="contents wide" aria-label="On this page"><p>On this page</p>${list}</nav>
<nav class="contents folded" aria-label="On this page"><details><summary>On this page</summary>${list}</details></nav>`;
}

function listOf(items: readonly string[]): string {
  return `<ul>${items.map((item) => `<li>${item}</li>`).join("")}</ul>`;
}
