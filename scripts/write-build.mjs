// Writes dist/build.json: the version from package.json, and the commit. The commit comes from the environment variable
// COMMIT, which the Dockerfile sets, or from the git repository in this folder. If VERSION is set and differs from
// package.json, the build fails, so that an image's label cannot contradict its programs.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

/** The default of the Dockerfile's build arguments. */
const UNKNOWN = "unknown";
const COMMIT_DIGITS = 12;

const given = (name) => process.env[name] || UNKNOWN;

function gitCommit() {
  // Without this check, git could find the repository of a parent folder, e.g. of the home directory.
  if (!existsSync(".git")) return UNKNOWN;
  const { status, stdout } = spawnSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : UNKNOWN;
}

const { version } = JSON.parse(readFileSync("package.json", "utf8"));
const commit = given("COMMIT") === UNKNOWN ? gitCommit() : given("COMMIT");
if (given("VERSION") !== UNKNOWN && given("VERSION") !== version) {
  throw new Error(
    `VERSION is ${given("VERSION")}, but package.json has ${version}: set VERSION to ${version}`,
  );
}
if (commit !== UNKNOWN && !/^[0-9a-f]{7,64}$/.test(commit)) {
  throw new Error("COMMIT is not a commit id: give 7 to 64 hexadecimal digits");
}
writeFileSync("dist/build.json", `${JSON.stringify({ version, commit: commit.slice(0, COMMIT_DIGITS) })}\n`);
