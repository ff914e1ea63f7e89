import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The release that a process runs, and the commit that the release was built from. */
interface Build {
  readonly version: string;
  /** The first 12 digits of the commit; "unknown" when the build had neither `COMMIT` nor a git repository. */
  readonly commit: string;
}

/** The build that this process runs, as `npm run build` described it in dist/build.json. */
export const BUILD: Build = readBuild(join(__dirname, "../build.json"));

/** The output of `--version`. */
export const VERSION_TEXT = `chat-bridge ${BUILD.version} (commit ${BUILD.commit})`;

/**
 * Returns the build that a file describes. The file is missing only if the program runs from its TypeScript sources.
 */
function readBuild(path: string): Build {
  try {
    const { version, commit } = JSON.parse(readFileSync(path, "utf8")) as Build;
    return { version, commit };
  } catch {
    return { version: "unknown", commit: "unknown" };
  }
}
