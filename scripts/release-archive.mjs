// Builds the release archive for machines without containers, and its checksum:
//
//   npm run release-archive                    writes chat-bridge-<version>.tar.gz and SHA256SUMS to dist/release
//   npm run release-archive -- --to <folder>   writes them to another folder
//   npm run release-archive -- --built         packs this folder as it is, instead of a clean clone of the commit
//
// Two runs for the same commit write the same bytes. Needs git, GNU tar and gzip.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { parseArgs } from "node:util";
import { productionFiles } from "./production-files.mjs";

/** Files of the repository that only the archive contains, and the image does not. */
const FROM_REPOSITORY = [
  "package.json",
  "LICENSE",
  "CHANGELOG.md",
  "bin",
  "cli/chat-bridge.mjs",
  "deploy/backup",
  "deploy/monitoring",
  "deploy/proxy",
  "deploy/systemd",
  "docs/*.md",
  "docs/answers",
];

/** Runs a program, and returns its output without the last line break. Throws if the program fails. */
function run(cwd, command, ...args) {
  const options = { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], maxBuffer: 2 ** 26 };
  const { status, stdout, error } = spawnSync(command, args, options);
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${args[0]} failed with exit code ${status}`);
  return stdout.trimEnd();
}

/** Clones a commit of a repository to a new folder, and builds it there. Returns the folder. */
function buildClone(repository, commit) {
  const folder = mkdtempSync(join(tmpdir(), "chat-bridge-release-"));
  run(repository, "git", "clone", "--quiet", "--no-checkout", repository, folder);
  run(folder, "git", "checkout", "--quiet", "--detach", commit);
  run(folder, "npm", "ci", "--silent");
  run(folder, "npm", "run", "--silent", "build");
  return folder;
}

/** Returns the version of a built folder. Throws if its programs were built from another version. */
function versionOf(folder) {
  const [own, built] = ["package.json", "dist/build.json"].map(
    (path) => JSON.parse(readFileSync(join(folder, path), "utf8")).version,
  );
  if (own !== built)
    throw new Error(`dist/ has version ${built}, but package.json ${own}: run npm run build`);
  return own;
}

/** Returns the paths of all files in the archive, and of their folders, relative to `folder`, in a fixed order. */
function pathsIn(folder) {
  const pathspecs = FROM_REPOSITORY.map((path) => (path.includes("*") ? `:(glob)${path}` : path));
  const tracked = run(folder, "git", "ls-files", "-z", "--error-unmatch", "--", ...pathspecs);
  const files = [...tracked.split("\0").filter((path) => path !== ""), ...productionFiles(folder)];
  /** @type {Set<string>} */
  const paths = new Set();
  for (const file of files) {
    for (let path = file; path !== "." && !paths.has(path); path = dirname(path)) paths.add(path);
  }
  return { paths: [...paths].toSorted(), files };
}

/**
 * Writes the archive. The folder, the user, the umask, the time zone, the locale and the current time have no effect on
 * the archive's bytes.
 */
async function pack(folder, { paths, name, seconds, to }) {
  const options = [
    "--format=ustar",
    "--no-recursion",
    `--mtime=@${seconds}`,
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=u=rwX,go=rX",
    `--transform=s,^,${name}/,`,
  ];
  const tar = spawn("tar", ["--create", ...options, "--null", "--files-from=-"], {
    cwd: folder,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const gzip = spawn("gzip", ["-9", "--no-name"], { stdio: ["pipe", "pipe", "inherit"] });
  const ends = [tar, gzip].map(
    (child) =>
      new Promise((done, fail) => {
        child.on("error", fail);
        child.on("close", (code) => (code === 0 ? done() : fail(new Error(`${child.spawnfile} failed`))));
      }),
  );
  tar.stdin.end(paths.join("\0"));
  await Promise.all([
    pipeline(tar.stdout, gzip.stdin),
    pipeline(gzip.stdout, createWriteStream(to)),
    ...ends,
  ]);
}

const { values } = parseArgs({
  options: { to: { type: "string" }, built: { type: "boolean", default: false } },
});
const repository = process.cwd();
const to = resolve(values.to ?? "dist/release");
const commit = run(repository, "git", "rev-parse", "HEAD");
// The build of the dashboard reads this variable too.
process.env.SOURCE_DATE_EPOCH ??= run(repository, "git", "log", "-1", "--format=%ct", commit);
const seconds = process.env.SOURCE_DATE_EPOCH;
const folder = values.built ? repository : buildClone(repository, commit);
try {
  const version = versionOf(folder);
  const name = `chat-bridge-${version}`;
  const { paths, files } = pathsIn(folder);
  mkdirSync(to, { recursive: true });
  const archive = join(to, `${name}.tar.gz`);
  await pack(folder, { paths, name, seconds, to: archive });
  const sum = createHash("sha256").update(readFileSync(archive)).digest("hex");
  writeFileSync(join(to, "SHA256SUMS"), `${sum}  ${name}.tar.gz\n`);
  const bytes = files.reduce((total, file) => total + statSync(join(folder, file)).size, 0);
  const megabytes = (each) => (each / 1e6).toFixed(1);
  console.log(
    `${archive}: ${files.length} files, ${megabytes(bytes)} MB, packed ${megabytes(statSync(archive).size)} MB`,
  );
  console.log(`commit ${commit}, Node ${process.version}, SHA-256 ${sum}`);
} finally {
  if (!values.built) rmSync(folder, { recursive: true, force: true });
}
