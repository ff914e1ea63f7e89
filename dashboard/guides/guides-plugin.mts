import { readdirSync, readFileSync } from "node:fs";
import { basename, join, posix } from "node:path";
import type { Plugin } from "vite";
import { renderGuide, titleOf } from "./render-guide.mts";

const ROOT = join(import.meta.dirname, "../..");
const STYLES = ["styles/tokens.css", "styles/base.css", "guides/guides.css"];
/** The name of the page for a Markdown file that is not in docs/. */
const OTHERS: Readonly<Record<string, string>> = { "bridge/README.md": "bridge-kit" };
/** The guides that each page links at its top. */
const FIRST: readonly string[] = ["bridge-guide", "bridge-kit", "game-service-guide", "operator-guide"];

/** Writes each guide in docs/ as a page, so that the dashboard can link the guides of its own release. */
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
    const nav = FIRST.map((name) => {
      const title = titles.get(name);
      if (title === undefined) throw new Error(`the guide ${name} is missing`);
      return { href: `/guides/${name}`, title };
    });
    for (const { path, name, text } of texts) {
      const source = renderGuide(text, nav, (link) => linkTo(path, link));
      this.emitFile({ type: "asset", fileName: `guides/${name}.html`, source });
    }
    const css = STYLES.map((file) => readFileSync(join(ROOT, "dashboard", file), "utf8")).join("\n");
    this.emitFile({ type: "asset", fileName: "guides/guides.css", source: css });
  },
};

/** Returns the name of the page for each Markdown file. */
function guideNames(): ReadonlyMap<string, string> {
  const docs = readdirSync(join(ROOT, "docs")).filter((file) => file.endsWith(".md"));
  const named = docs.map((file) => [`docs/${file}`, basename(file, ".md")] as const);
  return new Map([...named, ...Object.entries(OTHERS)]);
}
