import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PROJECT = join(__dirname, "../../..");

/**
 * Creates a project in `folder` with the kit's sources and `cli/chat-bridge.mjs`, but without build output. Returns the
 * project's path.
 */
export function unbuiltProject(folder: string): string {
  const project = join(folder, "project");
  const built = join(PROJECT, "kit/dist");
  cpSync(join(PROJECT, "kit"), join(project, "kit"), {
    recursive: true,
    filter: (path) => path !== built,
  });
  cpSync(join(PROJECT, "contract"), join(project, "contract"), { recursive: true });
  for (const file of ["package.json", "tsconfig.json", "LICENSE", "cli/chat-bridge.mjs"]) {
    cpSync(join(PROJECT, file), join(project, file));
  }
  symlinkSync(join(PROJECT, "node_modules"), join(project, "node_modules"));
  return project;
}

/**
 * Packs the kit as `npm publish` would, for all test files of the run. Packs a copy of the sources, because `npm pack`
 * first rebuilds kit/dist, which other tests are using.
 */
export function shareKit(): { close(): void } {
  const folder = mkdtempSync(join(tmpdir(), "cb-kit-"));
  const project = unbuiltProject(folder);
  const bridge = join(project, "kit");
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: bridge, stdio: "pipe" });
  const { version } = JSON.parse(readFileSync(join(bridge, "package.json"), "utf8")) as { version: string };
  process.env["KIT_PACKAGE"] = join(folder, `chat-bridge-kit-${version}.tgz`);
  return { close: () => rmSync(folder, { recursive: true, force: true }) };
}
