// Removes from node_modules/ and dist/ of a folder what the programs never load: source maps, TypeScript, Markdown,
// tests, benchmarks and examples. Keeps all licenses. The Dockerfile runs this script.
//
//   node scripts/prune-image.mjs <folder>
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const LICENSE = /^(licen[cs]e|notice|copying|copyright)/i;
const UNUSED_FILE = /\.(map|[cm]?ts|md|markdown|tsbuildinfo)$/i;
const UNUSED_FOLDER = /^(tests?|__tests__|benchmarks?|examples?|\.github)$/;

/** @param isPackage whether the folder is in a package of npm; folders of `dist` can have any name */
function prune(folder, isPackage) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (isPackage && UNUSED_FOLDER.test(entry.name)) rmSync(path, { recursive: true });
      else prune(path, isPackage);
    } else if (UNUSED_FILE.test(entry.name) && !LICENSE.test(entry.name)) rmSync(path);
  }
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("give the folder that contains node_modules and dist");
prune(join(folder, "node_modules"), true);
prune(join(folder, "dist"), false);
