import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { testFolder } from "../../../../test/harness/folder";

const PROJECT = join(__dirname, "../../../..");

/**
 * Installs the packed game kit and its dependencies in an empty project, without a registry. Uses the package that
 * `shareGameKit` has packed for all test files.
 */
export function packedGameKit() {
  const archive = process.env["GAME_KIT_PACKAGE"];
  if (archive === undefined) throw new Error("the game kit is not packed: see test/harness/global-setup.ts");
  const folder = testFolder();
  const installed = join(folder, "node_modules/chat-bridge-game");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", archive, "-C", installed, "--strip-components=1"]);
  const described = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly types?: string }>>;
    readonly typesVersions: Readonly<Record<"*", Readonly<Record<string, readonly string[]>>>>;
    readonly dependencies: Readonly<Record<string, string>>;
  };
  for (const name of Object.keys(described.dependencies)) {
    mkdirSync(dirname(join(folder, "node_modules", name)), { recursive: true });
    symlinkSync(join(PROJECT, "node_modules", name), join(folder, "node_modules", name));
  }
  return { folder, installed, readme: readFileSync(join(installed, "README.md"), "utf8"), ...described };
}
