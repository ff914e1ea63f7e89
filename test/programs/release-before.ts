import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { TOOLS_FOLDER, type Say } from "./tools-folder";

const run = promisify(execFile);
const ROOT = join(__dirname, "../..");
const INSTALL_WITHIN_MS = 15 * 60_000;
/** Maximum bytes of npm's output. */
const OUTPUT_MAX = 16 * 1024 * 1024;

/** The previous release, from which `test/upgrade` upgrades. */
export const RELEASE_BEFORE = JSON.parse(
  readFileSync(join(ROOT, "test/upgrade/release-before.json"), "utf8"),
) as { readonly version: string; readonly commit: string };

/**
 * Returns the folder of the previous release: the one that RELEASE_BEFORE names, or else the one that
 * `installReleaseBefore` creates.
 */
function releaseFolder(): string {
  const { version, commit } = RELEASE_BEFORE;
  const name = `chat-bridge-${version}-${commit.slice(0, 12)}`;
  return process.env["RELEASE_BEFORE"] || join(TOOLS_FOLDER, name);
}

/** Returns the folder of the previous release; undefined if the previous release is not built on this machine. */
export function findReleaseBefore(): string | undefined {
  const folder = releaseFolder();
  return existsSync(join(folder, "dist/core/main.js")) ? folder : undefined;
}

/**
 * Builds the previous release from the repository's own history, unless it is already built. If the clone lacks the
 * release's commit and cannot fetch it, says so in one line; the tests that need the release are then skipped. Throws
 * when npm fails.
 */
export async function installReleaseBefore(say: Say): Promise<void> {
  const { version, commit } = RELEASE_BEFORE;
  if (findReleaseBefore() !== undefined) return;
  if (process.env["RELEASE_BEFORE"]) throw new Error("RELEASE_BEFORE is not a folder with dist/core/main.js");
  if (!(await hasCommit(commit))) {
    say(
      `SKIPPED: test/upgrade: this clone lacks the commit of release ${version}, and cannot fetch ${commit}`,
    );
    return;
  }
  say(`building release ${version} from commit ${commit.slice(0, 12)} …`);
  const folder = releaseFolder();
  // Each process builds in a temporary folder with its own name, so that two processes can build at once.
  const unfinished = `${folder}.${process.pid}`;
  const within = { cwd: unfinished, timeout: INSTALL_WITHIN_MS, maxBuffer: OUTPUT_MAX };
  const npm = (...args: readonly string[]) =>
    run("npm", [...args, "--no-audit", "--no-fund", "--silent"], {
      ...within,
      env: { ...process.env, COMMIT: commit, VERSION: version },
    });
  try {
    await mkdir(unfinished, { recursive: true });
    await run("git", ["archive", "--output", join(unfinished, "release.tar"), commit], { cwd: ROOT });
    await run("tar", ["-xf", "release.tar"], within);
    await npm("ci");
    await npm("run", "build");
    await npm("prune", "--omit=dev");
    if (findReleaseBefore() === undefined) await rename(unfinished, folder);
  } catch (error) {
    throw new Error(`release ${version} could not be built from ${commit}`, { cause: error });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** Returns whether the clone contains a commit. If the clone is shallow, fetches a missing commit first. */
async function hasCommit(commit: string): Promise<boolean> {
  const git = (...args: readonly string[]) =>
    run("git", args, { cwd: ROOT, timeout: INSTALL_WITHIN_MS }).then(
      () => true,
      () => false,
    );
  const isThere = () => git("cat-file", "-e", `${commit}^{commit}`);
  if (await isThere()) return true;
  await git("fetch", "--quiet", "--depth", "1", "origin", commit);
  return isThere();
}
