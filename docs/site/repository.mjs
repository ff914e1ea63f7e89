import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Returns the files that a clone of the repository in `root` contains, and the folders of these files. `read` returns
 * the text of a file. All paths are relative to `root`, with slashes. The path of the root folder is ".".
 */
export function readRepository(root) {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard"];
  const listed = execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\n");
  const files = new Set(listed.filter((path) => path !== "" && existsSync(join(root, path))));
  const folders = new Set();
  for (const file of files) {
    for (let folder = dirname(file); !folders.has(folder); folder = dirname(folder)) folders.add(folder);
  }
  return {
    files,
    folders,
    /** The paths of the Markdown pages, without the templates in hidden folders. */
    pages: [...files].filter((path) => path.endsWith(".md") && !path.startsWith(".")),
    read: (path) => readFileSync(join(root, path), "utf8"),
  };
}
