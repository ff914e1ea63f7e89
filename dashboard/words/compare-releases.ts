/** A release of the pages. */
export interface Release {
  /** The path of the script. The path contains a hash, so releases with different scripts have different paths. */
  readonly script: string;
  /** Time of the build in milliseconds; NaN if unknown. */
  readonly builtAt: number;
}

/**
 * If only older releases answer for this many milliseconds, the page assumes that all servers were rolled back. During
 * an upgrade, both older and newer servers answer, but an upgrade takes less time.
 */
export const OLDER_FOR_MS = 600_000;

/**
 * Returns a function that is called with the server's release of each answer, and returns whether the page should
 * reload. The page should reload if the release is newer, or if only older releases have answered for `OLDER_FOR_MS`.
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
