import { posix } from "node:path";
import { anchorsOf, linksOf } from "./markdown.mjs";

/** Matches the target of a link to another host or to another program, e.g. `mailto:`. */
const ELSEWHERE = /^(?:[a-z][a-z+.-]*:|\/\/)/i;

/**
 * Returns the target of a link on a page:
 * - `{ kind: "elsewhere" }`: a URL;
 * - `{ kind: "page", path, anchor }`: a Markdown page; a link to a folder leads to the folder's README.md, if any;
 * - `{ kind: "file" | "folder", path }`: a file, or a folder without a README.md;
 * - `{ kind: "dead", why }`.
 */
export function resolveLink(repository, page, link) {
  if (ELSEWHERE.test(link)) return { kind: "elsewhere" };
  const [target = "", anchor = ""] = link.split("#");
  const path = target === "" ? page : posix.normalize(posix.join(posix.dirname(page), decodeURI(target)));
  const plain = path.endsWith("/") ? path.slice(0, -1) : path;
  const readme = posix.join(plain, "README.md");
  if (repository.files.has(readme)) return { kind: "page", path: readme, anchor };
  if (repository.folders.has(plain)) return { kind: "folder", path: plain };
  if (!repository.files.has(path)) return { kind: "dead", why: "no such file" };
  return repository.pages.includes(path) ? { kind: "page", path, anchor } : { kind: "file", path };
}

/** Returns a message for each dead link on the repository's pages. */
export function deadLinks(repository) {
  const anchors = new Map();
  const anchorsIn = (path) => {
    if (!anchors.has(path)) anchors.set(path, anchorsOf(repository.read(path)));
    return anchors.get(path);
  };
  return repository.pages.flatMap((page) =>
    linksOf(repository.read(page)).flatMap((link) => {
      const found = resolveLink(repository, page, link);
      if (found.kind === "dead") return [`${page}: the link ${link} is dead: ${found.why}`];
      if (found.kind !== "page" || found.anchor === "" || anchorsIn(found.path).has(found.anchor)) return [];
      return [`${page}: the link ${link} is dead: ${found.path} has no such heading`];
    }),
  );
}
