import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { linksOf } from "./markdown.mjs";
import { resolveLink } from "./links.mjs";
import { filePath, folderPath, sitePath } from "./site-paths.mjs";
import { sectionsOf } from "./sections.mjs";

/** The picture on the home page, for both themes. */
const HOME_PICTURES = { light: "/docs/pictures/play.png", dark: "/docs/pictures/play-dark.png" };

/**
 * Writes the sources of the site to the folder `to`: the pages of the repository, the pictures and source files that
 * they link to, and a home page with a card for each kind of reader.
 */
export function stage(root, repository, to) {
  rmSync(to, { recursive: true, force: true });
  const write = (path, text) => {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    writeFileSync(join(to, path), text);
  };
  const copy = (path, as) => {
    mkdirSync(dirname(join(to, as)), { recursive: true });
    copyFileSync(join(root, path), join(to, as));
  };
  write("index.md", homePage(sectionsOf(repository).readers));
  for (const page of repository.pages) write(sitePath(page), repository.read(page));
  for (const { kind, path } of linkedSources(repository)) {
    if (kind === "folder") write(folderPath(path), folderPage(repository, path));
    else copy(path, `public/${filePath(path)}`);
  }
  copy("dashboard/public/favicon.svg", "public/favicon.svg");
  for (const picture of Object.values(HOME_PICTURES)) copy(picture.slice(1), `public${picture}`);
}

/** Returns the files and folders that the pages link to, and the files in these folders. */
function linkedSources(repository) {
  const found = new Map();
  for (const page of repository.pages) {
    for (const link of linksOf(repository.read(page))) {
      const target = resolveLink(repository, page, link);
      if (target.kind === "file" || target.kind === "folder") found.set(target.path, target);
    }
  }
  const folders = [...found.values()].filter(({ kind }) => kind === "folder");
  for (const { path } of folders) {
    for (const file of filesIn(repository, path)) found.set(file, { kind: "file", path: file });
  }
  return [...found.values()];
}

function filesIn({ files }, folder) {
  return [...files].filter((path) => posix.dirname(path) === folder);
}

function folderPage(repository, path) {
  const items = filesIn(repository, path).map(
    (file) => `- [\`${posix.basename(file)}\`](/${filePath(file)})`,
  );
  return `---\nsearch: false\n---\n\n# \`${path}/\`\n\n${items.join("\n")}\n`;
}

function homePage(readers) {
  const features = readers.map(({ title, does, details, pages: [first] }) => ({
    title: does,
    details: `${details} For ${title.toLowerCase()}.`,
    link: `/${sitePath(first).replace(/\.md$/, ".html")}`,
  }));
  const home = {
    layout: "home",
    hero: {
      name: "Chat bridge",
      text: "Games in chat tools, through bridges",
      tagline:
        "A bridge reports what members do, and shows what games answer. Requests in both directions are signed.",
      image: { ...HOME_PICTURES, alt: "The demo chat on a phone: a trivia question with four answers" },
      actions: [
        { theme: "brand", text: "Quick start", link: "/docs/quick-start.html" },
        { theme: "alt", text: "Overview", link: "/overview.html" },
      ],
    },
    features,
  };
  // JSON is valid YAML.
  return `---\n${JSON.stringify(home)}\n---\n`;
}
