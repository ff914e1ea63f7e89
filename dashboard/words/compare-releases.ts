/** A release of the pages. */
export interface Release {
  /** The path of the script. It contains a hash, so releases with different scripts have different paths. */
  readonly script: string;
  /** Time of the build in milliseconds; NaN if the release does not tell it. */
  readonly builtAt: number;
}

/**
 * Milliseconds after which a page takes an older release of the server for a return to that release. An upgrade of all
 * servers is shorter. During the upgrade, older and newer servers answer in turn.
 */
export const OLDER_FOR_MS = 600_000;

/**
 * Returns a function that gets the server's release of each answer, and says whether the page should be loaded again: if
 * the release is newer, or if only older releases have answered for a long time.
 *
 * @param own the release of the page
 */
export function createReleaseWatch(own: Release): (seen: Release, nowMs: number) => boolean {
  let olderSinceMs: number | undefined;
  return (seen, nowMs) => {
    if (seen.script === own.script) {
      olderSinceMs = undefined;
      return false;
    }
    if (seen.builtAt >= own.builtAt) return true;
    olderSinceMs ??= nowMs;
    return nowMs - olderSinceMs >= OLDER_FOR_MS;
  };
}
