import { spawnSync } from "node:child_process";

/** Number of hexadecimal digits of a commit hash that choose an item: enough for all items to be equally likely. */
const DIGITS = 8;

/**
 * Returns the item that a commit chooses. Every check of the same commit makes the same choice. Over many commits, all
 * items are chosen equally often. A shallow clone is enough, because the choice depends only on the hash.
 *
 * @param commit hash of the commit, at least 16 hexadecimal digits
 * @param choice 0 or 1: selects which of two independent choices to make for the commit
 */
export function turnOf<T>(items: readonly [T, ...T[]], commit: string, choice: 0 | 1): T {
  const number = Number.parseInt(commit.slice(choice * DIGITS, (choice + 1) * DIGITS), 16);
  return items[number % items.length] ?? items[0];
}

/** Returns the hash of the commit that is checked out; zeros if this folder is not a git repository. */
export function currentCommit(): string {
  const { status, stdout } = spawnSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : "0".repeat(2 * DIGITS);
}
