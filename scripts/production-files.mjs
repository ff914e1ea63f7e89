// The files of a built clone that an installation needs. The image and the release archive contain the same files.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const LICENSE = /^(licen[cs]e|notice|copying|copyright)/i;
const UNUSED_FILE = /\.(map|[cm]?ts|md|markdown|tsbuildinfo)$/i;
/** The names in OpenTelemetry's experimental conventions, which no program uses. */
const UNUSED_CONVENTIONS = /^(experimental_|index-incubating)\S*\.[cm]?js$/;
const UNUSED_FOLDER = /^(tests?|__tests__|benchmarks?|examples?|\.github)$/;
/**
 * Folders that an installation does not need: the program of `npm start`, the sources of the documentation site, and
 * the release archive.
 */
const UNUSED_PROGRAMS = new Set(["dist/deploy/local", "dist/docs-site-pages", "dist/release"]);

const EXTERNAL = JSON.parse(readFileSync(new URL("external-libraries.json", import.meta.url), "utf8"));

const readPackage = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/**
 * Returns the paths, relative to `folder`, of the files in `dist/` and `node_modules/` that the programs load, and of
 * the packages' licenses. Leaves out development packages, source maps, TypeScript, Markdown, tests, benchmarks and
 * examples. Also leaves out the program of `npm start`, and the files of libraries that are used only in the bundles.
 */
export function productionFiles(folder) {
  const installed = packagesOf(folder, Object.keys(readPackage(folder).dependencies));
  const loaded = packagesOf(folder, EXTERNAL);
  const packages = [...installed].flatMap((path) => filesOfPackage(folder, path, loaded.has(path)));
  const programs = readdirSync(join(folder, "dist"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => filesOfPrograms(folder, join("dist", name)));
  return ["dist/build.json", ...programs, ...packages];
}

/** Returns the folders of packages and of all their dependencies, relative to `folder`. */
function packagesOf(folder, names) {
  const found = new Set();
  const add = (name, from) => {
    const path = join(from, "node_modules", name);
    if (!existsSync(join(folder, path))) {
      // Peer dependencies can be optional, so a package that is not installed is skipped.
      if (from !== ".") add(name, dirname(from));
      return;
    }
    if (found.has(path)) return;
    found.add(path);
    const { dependencies, optionalDependencies, peerDependencies } = readPackage(join(folder, path));
    const needed = { ...dependencies, ...optionalDependencies, ...peerDependencies };
    for (const each of Object.keys(needed)) add(each, path);
  };
  for (const name of names) add(name, ".");
  return found;
}

/** Returns the files below a folder of compiled programs. */
function filesOfPrograms(folder, path) {
  if (UNUSED_PROGRAMS.has(path)) return [];
  return readdirSync(join(folder, path), { withFileTypes: true }).flatMap((entry) => {
    const each = join(path, entry.name);
    if (entry.isDirectory()) return filesOfPrograms(folder, each);
    return entry.isFile() && !UNUSED_FILE.test(entry.name) ? [each] : [];
  });
}

/**
 * Returns the files of a package, without the packages in its own `node_modules`. If a package is used only in the
 * bundles, returns only its licenses and its package.json: scanners read the version from package.json.
 */
function filesOfPackage(folder, path, isLoaded) {
  const isUsed = (name) =>
    LICENSE.test(name) ||
    ((isLoaded || name === "package.json") && !UNUSED_FILE.test(name) && !UNUSED_CONVENTIONS.test(name));
  return readdirSync(join(folder, path), { withFileTypes: true }).flatMap((entry) => {
    const each = join(path, entry.name);
    if (entry.isDirectory()) {
      const isSkipped = entry.name === "node_modules" || UNUSED_FOLDER.test(entry.name);
      return isSkipped ? [] : filesOfPackage(folder, each, isLoaded);
    }
    return entry.isFile() && isUsed(entry.name) ? [each] : [];
  });
}
