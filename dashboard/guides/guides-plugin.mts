import { readdirSync, readFileSync } from "node:fs";
import { basename, join, posix } from "node:path";
import type { Plugin } from "vite";
import { renderGuide, titleOf, type GuideLink } from "./render-guide.mts";

const ROOT = join(import.meta.dirname, "../..");
const STYLES = ["styles/tokens.css", "styles/base.css", "guides/guides.css"];
/** The name of the page for a Markdown file that is not directly in docs/. */
const OTHERS: Readonly<Record<string, string>> = {
  "kit/README.md": "bridge-kit",
  "bridges/README.md": "bridges",
  "bridges/irc/README.md": "irc-bridge",
  "bridges/matrix/README.md": "matrix-bridge",
  "bridges/xmpp/README.md": "xmpp-bridge",
  "docs/answers/bridges.md": "answers-for-bridge-authors",
  "docs/answers/games.md": "answers-for-game-developers",
  "docs/answers/operating.md": "answers-for-operators",
};
/** Pages of docs/ that are only for contributors. */
const LEFT_OUT: readonly string[] = ["style"];
/** The guides that each page links to at its top. */
const FIRST: readonly string[] = ["bridge-guide", "bridge-kit", "game-service-guide", "operator-guide"];

/** Writes each guide as a page, so that the dashboard can link to the guides of its own release. */
export const guides: Plugin = {
  name: "guides",
  generateBundle() {
    const names = guideNames();
    const linkTo = (path: string, link: string): string | undefined => {
      if (/^(?:https?:|mailto:|#)/.test(link)) return link;
      const [file = "", anchor] = link.split("#");
      const name = names.get(posix.join(posix.dirname(path), file));
      return name && `/guides/${name}${anchor === undefined ? "" : `#${anchor}`}`;
    };
    const texts = [...names].map(([path, name]) => {
      const text = readFileSync(join(ROOT, path), "utf8");
      return { path, name, text, title: titleOf(text) };
    });
    const titles = new Map(texts.map(({ name, title }) => [name, title]));
    const first = FIRST.map((name) => {
      const title = titles.get(name);
      if (title === undefined) throw new Error(`the guide ${name} is missing`);
      return { href: `/guides/${name}`, title };
    });
    const others = texts
      .filter(({ name }) => !FIRST.includes(name))
      .map(({ name, title }) => ({ href: `/guides/${name}`, title }));
    const index = indexOf(first, others);
    const nav = [...first, { href: "/guides", title: "All guides" }];
    for (const { path, name, text } of [{ path: "", name: "index", text: index }, ...texts]) {
      const source = renderGuide(text, nav, (link) => (path === "" ? link : linkTo(path, link)));
      this.emitFile({ type: "asset", fileName: `guides/${name}.html`, source });
    }
    const css = STYLES.map((file) => readFileSync(join(ROOT, "dashboard", file), "utf8")).join("\n");
    this.emitFile({ type: "asset", fileName: "guides/guides.css", source: css });
  },
};

/** Returns the Markdown text of the page that lists all guides. */
function indexOf(first: readonly GuideLink[], others: readonly GuideLink[]): string {
  const list = (links: readonly GuideLink[]) =>
    links.map(({ href, title }) => `- [${title}](${href})`).join("\n");
  const api = { href: "/docs", title: "API reference" };
  return `# Guides\n\n${list([...first, api])}\n\n## Other guides\n\n${list(others)}\n`;
}

/** Returns the name of the page for each Markdown file. */
function guideNames(): ReadonlyMap<string, string> {
  const docs = readdirSync(join(ROOT, "docs")).filter((file) => file.endsWith(".md"));
  const named = docs.map((file) => [`docs/${file}`, basename(file, ".md")] as const);
  const shown = named.filter(([, name]) => !LEFT_OUT.includes(name));
  return new Map([...shown, ...Object.entries(OTHERS)]);
}
