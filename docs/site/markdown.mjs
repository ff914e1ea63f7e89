import MarkdownIt from "markdown-it";

const parser = new MarkdownIt({ html: true });
const HTML_LINK = /(<(?:a|img|source)\b[^>]*?\s(?:href|src)=")([^"]*)(")/g;

export function parseMarkdown(text) {
  return parser.parse(text, {});
}

/** Replaces the target of each link and image in the tokens with the result of `map`. Includes links in HTML. */
export function mapLinks(tokens, map) {
  for (const token of tokens) {
    if (token.type === "link_open") token.attrSet("href", map(token.attrGet("href") ?? ""));
    if (token.type === "image") token.attrSet("src", map(token.attrGet("src") ?? ""));
    if (token.type.startsWith("html_")) {
      token.content = token.content.replaceAll(
        HTML_LINK,
        (_, before, target, after) => before + map(target) + after,
      );
    }
    if (token.children !== null) mapLinks(token.children, map);
  }
}

/** Returns the targets of all links and images of a page. */
export function linksOf(text) {
  const links = [];
  mapLinks(parseMarkdown(text), (link) => {
    links.push(link);
    return link;
  });
  return links;
}

/** Returns the anchor that GitHub makes from the text of a heading, without the number of a repeated heading. */
export function anchorOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");
}

/** Returns the text of each heading of a page, without markup. */
export function headingsOf(text) {
  const tokens = parseMarkdown(text);
  return tokens.flatMap(({ type }, index) =>
    type === "heading_open"
      ? [
          (tokens[index + 1]?.children ?? [])
            .filter((part) => part.type === "text" || part.type === "code_inline")
            .map((part) => part.content)
            .join(""),
        ]
      : [],
  );
}

/** Returns all anchors of a page: those of its headings, and the ids in its HTML. */
export function anchorsOf(text) {
  const counts = new Map();
  const anchors = headingsOf(text).map((heading) => {
    const anchor = anchorOf(heading);
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
  const ids = [...text.matchAll(/<[a-z]+\b[^>]*\s(?:id|name)="([^"]+)"/g)].map(([, id]) => id);
  return new Set([...anchors, ...ids]);
}
