import { readdirSync, readFileSync } from "node:fs";
import { basename, join, posix } from "node:path";
import type { Plugin } from "vite";
import { guidePage, indexPage, type GuideGroup, type GuideLink } from "./guide-page.mts";
import { renderGuide, titleOf, type GuideFiles, type Picture } from "./render-guide.mts";

const ROOT = join(import.meta.dirname, "../..");
const STYLES = ["styles/tokens.css", "styles/base.css", "guides/guides.css"];
const SCRIPT = "copy-code.js";
/** The names of the pages for the Markdown files that are not directly in docs/. */
const OTHERS: Readonly<Record<string, string>> = {
  "kit/README.md": "bridge-kit",
  "kit/game/README.md": "game-kit",
  "bridges/README.md": "bridges",
  "bridges/irc/README.md": "irc-bridge",
  "bridges/matrix/README.md": "matrix-bridge",
  "bridges/xmpp/README.md": "xmpp-bridge",
  "docs/answers/bridges.md": "answers-for-bridge-authors",
  "docs/answers/games.md": "answers-for-game-developers",
  "docs/answers/operating.md": "answers-for-operators",
  "docs/games/typescript.md": "game-in-typescript",
  "docs/games/python.md": "game-in-python",
  "docs/games/go.md": "game-in-go",
};
/** Pages of docs/ that are only for contributors. */
const LEFT_OUT: readonly string[] = ["style"];
/** The guides for each kind of reader, in reading order. All other guides are for operators. */
const READERS: Readonly<Record<string, readonly string[]>> = {
  "Bridge authors": [
    "bridge-guide",
    "events",
    "checks",
    "bridge-kit",
    "bridges",
    "irc-bridge",
    "matrix-bridge",
    "xmpp-bridge",
    "answers-for-bridge-authors",
  ],
  "Game developers": [
    "game-service-guide",
    "game-in-typescript",
    "game-in-python",
    "game-in-go",
    "game-kit",
    "fake-core",
    "answers-for-game-developers",
  ],
  "All readers": ["quick-start", "troubleshooting", "glossary"],
};
/** Titles of the guides whose first heading is only the name of a package. */
const TITLES: Readonly<Record<string, string>> = {
  "bridge-kit": "The kit for bridges",
  "game-kit": "The kit for games",
};
/** The guide that operators read first. */
const FIRST_FOR_OPERATORS = "operator-guide";

/** Writes each guide as a page, so that the dashboard can link to the guides of its own release. */
export const guides: Plugin = {
  name: "guides",
  generateBundle() {
    const emit = (fileName: string, source: string | Uint8Array) =>
      void this.emitFile({ type: "asset", fileName: `guides/${fileName}`, source });
    const names = guideNames();
    const pictures = new Set<string>();
    const texts = [...names].map(([path, name]) => {
      const text = readFileSync(join(ROOT, path), "utf8");
      return { path, name, text, link: { href: `/guides/${name}`, title: TITLES[name] ?? titleOf(text) } };
    });
    const groups = groupsOf(new Map(texts.map(({ name, link }) => [name, link])));
    for (const { path, name, text, link } of texts) {
      const guide = renderGuide(text, filesOf(path, names, pictures));
      emit(`${name}.html`, guidePage(guide, link.href, groups));
    }
    emit("index.html", indexPage(groups));
    for (const path of pictures) emit(pictureName(path), readFileSync(join(ROOT, path)));
    const css = STYLES.map((file) => readFileSync(join(ROOT, "dashboard", file), "utf8")).join("\n");
    emit("guides.css", css);
    emit(SCRIPT, readFileSync(join(import.meta.dirname, SCRIPT), "utf8"));
  },
};

/**
 * Returns functions that resolve the links and pictures of the guide at `path`. Adds the paths of the guide's pictures
 * to `pictures`.
 */
function filesOf(path: string, names: ReadonlyMap<string, string>, pictures: Set<string>): GuideFiles {
  const resolve = (file: string) => posix.join(posix.dirname(path), file);
  return {
    linkTo(link) {
      if (/^(?:https?:|mailto:|#)/.test(link)) return link;
      const [file = "", anchor] = link.split("#");
      const name = names.get(resolve(file));
      return name && `/guides/${name}${anchor === undefined ? "" : `#${anchor}`}`;
    },
    pictureAt(file) {
      const picture = resolve(file);
      pictures.add(picture);
      return { src: `/guides/${pictureName(picture)}`, ...sizeOf(readFileSync(join(ROOT, picture))) };
    },
  };
}

const pictureName = (path: string) => `pictures/${basename(path)}`;

/** Returns the size in pixels of a PNG picture, read from its first chunk. */
function sizeOf(png: Buffer): Omit<Picture, "src"> {
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}

function groupsOf(links: ReadonlyMap<string, GuideLink>): readonly GuideGroup[] {
  const linkOf = (name: string) => {
    const link = links.get(name);
    if (link === undefined) throw new Error(`the guide ${name} is missing`);
    return link;
  };
  const grouped = new Set(Object.values(READERS).flat());
  const others = [...links.keys()].filter((name) => !grouped.has(name) && name !== FIRST_FOR_OPERATORS);
  const { "All readers": all = [], ...readers } = READERS;
  return [
    ...Object.entries(readers).map(([title, names]) => ({ title, links: names.map(linkOf) })),
    { title: "Operators", links: [FIRST_FOR_OPERATORS, ...others].map(linkOf) },
    { title: "All readers", links: [...all.map(linkOf), { href: "/docs", title: "API reference" }] },
  ];
}

/** Returns the names of the pages, keyed by the path of the Markdown file. */
function guideNames(): ReadonlyMap<string, string> {
  const docs = readdirSync(join(ROOT, "docs")).filter((file) => file.endsWith(".md"));
  const named = docs.map((file) => [`docs/${file}`, basename(file, ".md")] as const);
  const shown = named.filter(([, name]) => !LEFT_OUT.includes(name));
  return new Map([...shown, ...Object.entries(OTHERS)]);
}
