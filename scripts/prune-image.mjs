// Removes the files in a folder's node_modules/ and dist/ that the programs never load: source maps, TypeScript,
// Markdown, tests, benchmarks, examples, the program of `npm start`, and the files of libraries that are used only in
// the bundles. Keeps all licenses. The Dockerfile runs this script.
//
//   node scripts/prune-image.mjs <folder>
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

const LICENSE = /^(licen[cs]e|notice|copying|copyright)/i;
const UNUSED_FILE = /\.(map|[cm]?ts|md|markdown|tsbuildinfo)$/i;
/** The names in OpenTelemetry's experimental conventions, which no program uses. */
const UNUSED_CONVENTIONS = /^(experimental_|index-incubating)\S*\.[cm]?js$/;
const UNUSED_FOLDER = /^(tests?|__tests__|benchmarks?|examples?|\.github)$/;

/** Removes the unused files from a folder of compiled programs. */
function prunePrograms(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) prunePrograms(path);
    else if (UNUSED_FILE.test(entry.name)) rmSync(path);
  }
}

/**
 * Removes the unused files from a package, and from the packages in its own `node_modules`. If a package is used only
 * in the bundles, only its licenses and its package.json are kept: scanners read the version from package.json.
 */
function prunePackage(folder, isLoaded) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const isUnused = !isLoaded && entry.name !== "package.json";
    if (entry.isDirectory()) {
      if (entry.name === "node_modules") prunePackages(path);
      else if (UNUSED_FOLDER.test(entry.name)) rmSync(path, { recursive: true });
      else prunePackage(path, isLoaded);
    } else {
      const isNeverLoaded = UNUSED_FILE.test(entry.name) || UNUSED_CONVENTIONS.test(entry.name);
      if ((isUnused || isNeverLoaded) && !LICENSE.test(entry.name)) rmSync(path);
    }
  }
}

/** Removes the unused files from the packages in a `node_modules` folder or in a scope's folder, e.g. `@grpc`. */
function prunePackages(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) rmSync(path);
    else if (entry.name.startsWith("@")) prunePackages(path);
    else prunePackage(path, loaded.has(path));
  }
}

/** Adds the folder of a package, and the folders of all packages that it needs. `from` is a folder that uses the package. */
function addPackage(name, from, folders) {
  const path = join(from, "node_modules", name);
  if (!existsSync(path)) {
    // Peer dependencies can be optional, so a package that is not installed is skipped.
    if (dirname(from) !== from) addPackage(name, dirname(from), folders);
    return;
  }
  if (folders.has(path)) return;
  folders.add(path);
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  for (const each of Object.keys({ ...dependencies, ...peerDependencies })) addPackage(each, path, folders);
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("give the folder that contains node_modules and dist");
/** The folders of the packages that Node loads. All other packages are only in the bundles. */
const loaded = new Set();
const external = JSON.parse(readFileSync(new URL("external-libraries.json", import.meta.url), "utf8"));
for (const name of external) addPackage(name, folder, loaded);
prunePackages(join(folder, "node_modules"));
prunePrograms(join(folder, "dist"));
// The program of `npm start`, which starts all others on one machine.
rmSync(join(folder, "dist/deploy/local"), { recursive: true, force: true });
// The sources of the documentation site, if it was built in the same folder.
rmSync(join(folder, "dist/docs-site-pages"), { recursive: true, force: true });
