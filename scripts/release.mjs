// Checks that a tag can be released, and prints what the release workflow needs.
//
//   node scripts/release.mjs v1.2.3           prints version=…, prerelease=… and npm-tag=…
//   node scripts/release.mjs v1.2.3 --notes   prints the changelog's section of the version
//
// Fails unless all packages, the Helm chart and the changelog have the version of the tag.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { parse } from "yaml";

const CHART = "deploy/helm/chat-bridge/Chart.yaml";
const CHANGELOG = "CHANGELOG.md";

const read = (path) => readFileSync(path, "utf8");

/** Returns the text below a version's heading; undefined if the changelog has no such heading. */
function notesOf(version) {
  const [, ...sections] = read(CHANGELOG).split(/^## /m);
  const section = sections.find((each) => each.split("\n", 1)[0].split(" ")[0] === version);
  return section?.slice(section.indexOf("\n")).trim();
}

/** Returns a sentence for each file in which the version is missing or different. */
function faultsOf(version) {
  const faults = [];
  const require = (path, what, found) => {
    if (found !== version) faults.push(`${path}: ${what} is ${found}, and must be ${version}`);
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
  for (const [path, { version: own, dependencies = {} }] of packages) {
    require(path, "version", own);
    for (const [name, range] of Object.entries(dependencies)) {
      if (ours.has(name)) require(path, `the dependency ${name}`, range);
    }
  }
  if (existsSync(CHART)) {
    const chart = parse(read(CHART));
    for (const field of ["version", "appVersion"]) require(CHART, field, chart[field]);
  }
  if (notesOf(version) === undefined) faults.push(`${CHANGELOG}: there is no section ${version}`);
  return faults;
}

const [tag = "", option] = process.argv.slice(2);
const [, version, prerelease] = /^v(\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?)$/.exec(tag) ?? [];
if (version === undefined)
  throw new Error(`"${tag}" is not a tag of a release, e.g. v1.2.3 or v1.2.3-beta.1`);
const faults = faultsOf(version);
if (faults.length > 0) {
  process.stderr.write(`${faults.join("\n")}\n`);
  process.exitCode = 1;
} else if (option === "--notes") {
  process.stdout.write(`${notesOf(version)}\n`);
} else {
  const isPrerelease = prerelease !== undefined;
  const npmTag = isPrerelease ? "next" : "latest";
  process.stdout.write(`version=${version}\nprerelease=${isPrerelease}\nnpm-tag=${npmTag}\n`);
}
