import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

const PROJECT = join(__dirname, "../../../..");

/** Folders and files that `npm pack` in kit/game reads. */
const SOURCES =
  "contract core kit proto runtime scripts/write-build.mjs package.json tsconfig.json LICENSE".split(" ");
/** Folders that the copy does not need. */
const LEFT_OUT = /^kit\/(dist|test|template|game\/(dist|test))$/;

/**
 * Packs the game kit as `npm publish` would, for all test files of the run. Packs a copy of the sources: before npm
 * packs, it rebuilds kit/game/dist, which other programs may be using.
 */
export function shareGameKit(): { close(): void } {
  const folder = mkdtempSync(join(tmpdir(), "cb-game-kit-"));
  const project = join(folder, "project");
  for (const path of SOURCES) {
    cpSync(join(PROJECT, path), join(project, path), {
      recursive: true,
      filter: (from) => !LEFT_OUT.test(relative(PROJECT, from).replaceAll("\\", "/")),
    });
  }
  symlinkSync(join(PROJECT, "node_modules"), join(project, "node_modules"));
  const kit = join(project, "kit/game");
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: kit, stdio: "pipe" });
  const { version } = JSON.parse(readFileSync(join(kit, "package.json"), "utf8")) as { version: string };
  process.env["GAME_KIT_PACKAGE"] = join(folder, `chat-bridge-game-${version}.tgz`);
  rmSync(project, { recursive: true, force: true });
  return { close: () => rmSync(folder, { recursive: true, force: true }) };
}
