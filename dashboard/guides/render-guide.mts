import MarkdownIt from "markdown-it";

export interface GuideLink {
  readonly href: string;
  readonly title: string;
}

/** Returns the first heading of a Markdown text, without backticks. */
export function titleOf(text: string): string {
  return (/^# (.+)$/m.exec(text)?.[1] ?? "Guide").replaceAll("`", "");
}

/**
 * Returns the page for a guide. Headings get the anchors that GitHub gives them.
 *
 * @param linkTo returns the address of a link on the page; undefined if the page shows only the link's text
 */
export function renderGuide(
  text: string,
  nav: readonly GuideLink[],
  linkTo: (link: string) => string | undefined,
): string {
  const markdown = new MarkdownIt({ html: false, linkify: false });
  const { escapeHtml } = markdown.utils;
  markdown.core.ruler.push("guide", ({ tokens }) => {
    for (const [i, token] of tokens.entries()) {
      if (token.type === "heading_open") token.attrSet("id", anchorOf(tokens[i + 1]?.content ?? ""));
      // A wide table scrolls in its own box, which is focusable so that the keyboard can scroll it.
      if (token.type === "table_open") token.attrSet("tabindex", "0");
      if (token.type === "fence") token.attrSet("tabindex", "0");
      for (const child of token.children ?? []) {
        if (child.type !== "link_open") continue;
        const href = linkTo(String(child.attrGet("href") ?? ""));
        if (href !== undefined) child.attrSet("href", href);
        else child.attrs = null;
      }
    }
  });
  const links = nav.map(({ href, title }) => `<a href="${href}">${escapeHtml(title)}</a>`).join("");
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${escapeHtml(titleOf(text))} · Chat bridge</title>
    <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="/guides/guides.css" />
    <script src="/theme.js"></script>
  </head>
  <body>
    <header class="guide-head">
      <a class="guide-brand" href="/">Chat bridge</a>
      <nav aria-label="Guides">${links}<a href="/docs">API reference</a></nav>
    </header>
    <main class="guide">
${markdown.render(text)}
    </main>
  </body>
</html>
`;
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}
