// Checks that the packages, the Helm chart, the changelog and the guides name the same version. Prints the values that
// the release workflow needs.
//
//   node scripts/release.mjs --check          checks the tree between two releases
//   node scripts/release.mjs v1.2.3           checks that a tag can be released; prints version=…, prerelease=… and npm-tag=…
//   node scripts/release.mjs v1.2.3 --notes   prints the changelog's section of the version
//
// Fails unless this version is the same in all these files, and later than the previous release.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

const CHART = "deploy/helm/chat-bridge/Chart.yaml";
const CHANGELOG = "CHANGELOG.md";
const LOCK = "package-lock.json";
/** The version and the commit of the release from which `test/upgrade` upgrades. */
const BEFORE = "test/upgrade/release-before.json";
/** The mark in the changelog's heading of a version that is not released yet. */
const UNRELEASED = "(unreleased)";
const TEMPLATES = ["kit/template/package.json", "kit/game/template/package.json"];
/** Files and folders with guides that can name the version of a package, an archive or an image. */
const GUIDES = ["README.md", "docs", "kit", "bridges", "deploy"];
const SKIPPED = new Set(["node_modules", "dist"]);
const TAG = /^v(\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?)$/;
/** Matches a version in the name of a package file, an archive or an image. */
const NAMED_VERSION = /(chat-bridge(?:-kit|-game)?)[-:](\d+\.\d+\.\d+(?:-[0-9A-Za-z]+(?:\.\d+)*)?)/g;

const read = (path) => readFileSync(path, "utf8");

/** Returns the sections of versions in the changelog: their headings, e.g. `1.2.3 (unreleased)`, and their texts. */
function sections() {
  const [, ...found] = read(CHANGELOG).split(/^## (?=\d)/m);
  return found.map((section) => {
    const [heading] = section.split("\n", 1);
    return { heading, version: heading.split(" ")[0], text: section.slice(heading.length).trim() };
  });
}

/** Compares two versions as npm does. The result is negative if `one` is earlier than `other`. */
function compareVersions(one, other) {
  const [[numbers, tags], [otherNumbers, otherTags]] = [one, other].map((version) => {
    const [, main = "", prerelease] = /^([^-]*)(?:-(.*))?$/.exec(version) ?? [];
    return [main.split("."), prerelease?.split(".")];
  });
  // 1.0.0 is later than all its prereleases, e.g. 1.0.0-beta.2.
  const parts = [...numbers, ...(tags ?? ["~"])];
  const otherParts = [...otherNumbers, ...(otherTags ?? ["~"])];
  const isNumber = (part) => /^\d+$/.test(part);
  for (let i = 0; i < Math.max(parts.length, otherParts.length); i++) {
    const [part, otherPart] = [parts[i], otherParts[i]];
    if (part === otherPart) continue;
    if (part === undefined || otherPart === undefined) return part === undefined ? -1 : 1;
    if (isNumber(part) && isNumber(otherPart)) return Number(part) - Number(otherPart);
    if (isNumber(part) !== isNumber(otherPart)) return isNumber(part) ? -1 : 1;
    return part < otherPart ? -1 : 1;
  }
  return 0;
}

/** Returns the paths of the Markdown pages at a path: a page, or all pages in a folder. */
function pagesIn(path) {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return path.endsWith(".md") ? [path] : [];
  const names = readdirSync(path).filter((name) => !SKIPPED.has(name));
  return names.flatMap((name) => pagesIn(join(path, name)));
}

/** Returns a sentence for each file in which the version is missing or different. */
function faultsOf(version) {
  const faults = [];
  const require = (path, what, found, wanted = version) => {
    if (found !== wanted) faults.push(`${path}: ${what} is ${found}, and must be ${wanted}`);
  };
  const folders = readdirSync("bridges").map((name) => `bridges/${name}/package.json`);
  const paths = [
    "package.json",
    "kit/package.json",
    "kit/game/package.json",
    ...folders.filter((path) => existsSync(path)),
  ];
  const packages = paths.map((path) => [path, JSON.parse(read(path))]);
  const ours = new Set(packages.map(([, { name }]) => name));
  const requireDependencies = (path, dependencies = {}, wanted = version) => {
    for (const [name, range] of Object.entries(dependencies)) {
      if (ours.has(name)) require(path, `the dependency ${name}`, range, wanted);
    }
  };
  for (const [path, { version: own, dependencies }] of packages) {
    require(path, "version", own);
    requireDependencies(path, dependencies);
  }
  for (const path of TEMPLATES.filter((each) => existsSync(each))) {
    requireDependencies(path, JSON.parse(read(path)).dependencies, `^${version}`);
  }
  if (existsSync(LOCK)) {
    for (const [folder, { name, version: own, dependencies }] of Object.entries(
      JSON.parse(read(LOCK)).packages,
    )) {
      if (!ours.has(name) || folder.startsWith("node_modules/")) continue;
      require(LOCK, `the version of ${name}`, own);
      requireDependencies(LOCK, dependencies);
    }
  }
  if (existsSync(CHART)) {
    const chart = parse(read(CHART));
    for (const field of ["version", "appVersion"]) require(CHART, field, chart[field]);
  }
  for (const path of GUIDES.flatMap((each) => pagesIn(each))) {
    for (const [, name, found] of read(path).matchAll(NAMED_VERSION)) {
      require(path, `the version of ${name}`, found);
    }
  }
  return [...faults, ...faultsOfOrder(version)];
}

/** Returns the faults in the changelog's order: `version` must be first, and the previous release second. */
function faultsOfOrder(version) {
  const [first, second] = sections();
  if (sections().every((each) => each.version !== version)) {
    return [`${CHANGELOG}: there is no section ${version}`];
  }
  if (first.version !== version) return [`${CHANGELOG}: the first section must be ${version}`];
  if (!existsSync(BEFORE)) return [];
  const before = JSON.parse(read(BEFORE)).version;
  const faults = [];
  if (second?.version !== before) {
    faults.push(
      `${CHANGELOG}: the section after ${version} must be ${before}, the release in ${BEFORE}: after a release, name that release there`,
    );
  }
  if (compareVersions(version, before) <= 0) {
    faults.push(
      `package.json: version is ${version}, and must be later than ${before}, the release in ${BEFORE}`,
    );
  }
  return faults;
}

/** Returns the faults that matter only for a release. */
function faultsOfRelease(version) {
  const section = sections().find((each) => each.version === version);
  if (!section?.heading.includes(UNRELEASED)) return [];
  return [`${CHANGELOG}: remove "${UNRELEASED}" from the heading of ${version}`];
}

/** Prints the faults, and returns whether there are none. */
function isFaultless(faults) {
  if (faults.length === 0) return true;
  process.stderr.write(`${faults.join("\n")}\n`);
  process.exitCode = 1;
  return false;
}

function printRelease(tag, option) {
  const [, version, prerelease] = TAG.exec(tag) ?? [];
  if (version === undefined) {
    throw new Error(`"${tag}" is not a tag of a release, e.g. v1.2.3 or v1.2.3-beta.1`);
  }
  if (!isFaultless([...faultsOf(version), ...faultsOfRelease(version)])) return;
  if (option === "--notes") {
    process.stdout.write(`${sections()[0].text}\n`);
    return;
  }
  const isPrerelease = prerelease !== undefined;
  const npmTag = isPrerelease ? "next" : "latest";
  process.stdout.write(`version=${version}\nprerelease=${isPrerelease}\nnpm-tag=${npmTag}\n`);
}

const [tag = "", option] = process.argv.slice(2);
if (tag === "--check") isFaultless(faultsOf(JSON.parse(read("package.json")).version));
else printRelease(tag, option);
