import MarkdownIt from "markdown-it";

/** A heading of a guide, of level 2 or 3. */
export interface Heading {
  readonly level: number;
  readonly id: string;
  readonly text: string;
}
export interface RenderedGuide {
  readonly title: string;
  readonly headings: readonly Heading[];
  readonly html: string;
}
export interface Picture {
  readonly src: string;
  readonly width: number;
  readonly height: number;
}
export interface GuideFiles {
  /** Returns the address of a link on the page; undefined if the page shows only the link's text. */
  linkTo(link: string): string | undefined;
  pictureAt(path: string): Picture;
}

type Token = ReturnType<InstanceType<typeof MarkdownIt>["parse"]>[number];
/** The heading of the section that contains a block of code, and the number of the block in that section. */
interface Place {
  readonly section: string;
  readonly number: number;
}

/** Matches the comments that mark the generated parts of a page. */
const COMMENT = /^<!--.*?-->$/gms;

/** Returns the first heading of a Markdown text, without backticks. */
export function titleOf(text: string): string {
  return (/^# (.+)$/m.exec(text)?.[1] ?? "Guide").replaceAll("`", "");
}

/**
 * Renders a guide. Headings get the anchors that GitHub gives them, and each block of code gets a button that copies
 * the block.
 */
export function renderGuide(text: string, files: GuideFiles): RenderedGuide {
  const markdown = new MarkdownIt({ html: false, linkify: false });
  const headings: Heading[] = [];
  const places = new Map<Token, Place>();
  markdown.core.ruler.push("guide", ({ tokens }) => {
    headings.push(...addAnchors(tokens));
    for (const [token, place] of placesOf(tokens)) places.set(token, place);
    for (const token of tokens) {
      // A wide table scrolls in its own box. The box is focusable, so that keyboard users can scroll it.
      if (token.type === "table_open") token.attrSet("tabindex", "0");
      for (const child of token.children ?? []) replaceAddresses(child, files);
    }
  });
  const { escapeHtml } = markdown.utils;
  markdown.renderer.rules.fence = (tokens, index) => {
    const token = tokens[index];
    const place = token && places.get(token);
    if (token === undefined || place === undefined) throw new Error("a block of code has no place");
    return codeBlock(escapeHtml, token, place);
  };
  return { title: titleOf(text), html: markdown.render(text.replaceAll(COMMENT, "")), headings };
}

/** Gives each heading its anchor. Returns the headings of the levels 2 and 3. */
function addAnchors(tokens: readonly Token[]): readonly Heading[] {
  const counts = new Map<string, number>();
  return tokens.flatMap((token, i) => {
    if (token.type !== "heading_open") return [];
    const text = textOf(tokens[i + 1]);
    const anchor = anchorOf(text);
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    const id = count === 0 ? anchor : `${anchor}-${count}`;
    token.attrSet("id", id);
    const level = Number(token.tag.slice(1));
    return level === 2 || level === 3 ? [{ level, id, text }] : [];
  });
}

/** Returns the section and the number of each block of code. */
function placesOf(tokens: readonly Token[]): ReadonlyMap<Token, Place> {
  const places = new Map<Token, Place>();
  let place: Place = { section: "", number: 0 };
  for (const [i, token] of tokens.entries()) {
    if (token.type === "heading_open") place = { section: textOf(tokens[i + 1]), number: 0 };
    if (token.type !== "fence") continue;
    place = { ...place, number: place.number + 1 };
    places.set(token, place);
  }
  return places;
}

/** Returns the text of a heading's content, without markup. */
function textOf(content: Token | undefined): string {
  return (content?.children ?? []).map((part) => part.content).join("");
}

function replaceAddresses(token: Token, { linkTo, pictureAt }: GuideFiles): void {
  if (token.type === "link_open") {
    const href = linkTo(String(token.attrGet("href") ?? ""));
    if (href === undefined) token.attrs = null;
    else token.attrSet("href", href);
  }
  if (token.type === "image") {
    const { src, width, height } = pictureAt(String(token.attrGet("src") ?? ""));
    token.attrSet("src", src);
    token.attrSet("width", String(width));
    token.attrSet("height", String(height));
    token.attrSet("loading", "lazy");
  }
}

/**
 * Returns the HTML of a block of code. The copy button is hidden until copy-code.js shows it, because it does not work
 * without JavaScript.
 */
function codeBlock(
  escapeHtml: (text: string) => string,
  { info, content }: Token,
  { section, number }: Place,
): string {
  const name = `Copy code ${number} of “${section}”`;
  return `<div class="code">
<div class="code-head"><span>${escapeHtml(info.trim())}</span><button type="button" class="copy" aria-label="${escapeHtml(name)}" hidden>Copy</button></div>
<pre tabindex="0"><code>${escapeHtml(content)}</code></pre>
</div>
`;
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}
