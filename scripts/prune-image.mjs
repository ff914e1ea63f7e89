// Removes the files in a folder's node_modules/ and dist/ that an installation does not need: see
// production-files.mjs. The Dockerfile runs this script.
//
//   node scripts/prune-image.mjs <folder>
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { productionFiles } from "./production-files.mjs";

/**
 * Removes the files that are not in `kept`, and the folders that become empty. Returns whether the folder at `path`
 * itself became empty.
 */
function removeOthers(folder, path, kept) {
  const entries = readdirSync(join(folder, path), { withFileTypes: true });
  const removed = entries.filter((entry) => {
    const each = join(path, entry.name);
    const isUnused = entry.isDirectory() ? removeOthers(folder, each, kept) : !kept.has(each);
    if (isUnused) rmSync(join(folder, each), { recursive: true });
    return isUnused;
  });
  return entries.length > 0 && removed.length === entries.length;
}

const [folder] = process.argv.slice(2);
if (folder === undefined)
  throw new Error("give the folder that contains package.json, node_modules and dist");
const kept = new Set(productionFiles(folder));
for (const path of ["node_modules", "dist"]) removeOthers(folder, path, kept);
