/**
 * Returns the path that a page of the repository has in the sources of the site. `index.md` is the site's home page.
 */
export function sitePath(path) {
  if (path === "README.md") return "overview.md";
  return path.endsWith("/README.md") ? path.replace(/README\.md$/, "index.md") : path;
}

/** Returns the path of a file in the site. A browser shows any file of source code as plain text. */
export function filePath(path) {
  return /\.(?:png|svg|jpg|gif)$/.test(path) ? path : `source/${path}.txt`;
}

/** Returns the path of the page that lists the files of a folder. */
export function folderPath(path) {
  return `source/${path}.md`;
}

/** Returns the absolute URL of the target of a link. VitePress replaces `.md` with `.html`. */
export function siteLink({ kind, path, anchor }) {
  if (kind === "file") return `/${filePath(path)}`;
  if (kind === "folder") return `/${folderPath(path)}`;
  return `/${sitePath(path)}${anchor === "" ? "" : `#${anchor}`}`;
}
