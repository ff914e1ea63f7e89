// Supported releases of Node, installed from npm packages that contain the binaries.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Versions of Node, by release line. */
export const RUNTIMES = { 22: "22.23.3", 24: "24.21.0", 26: "26.10.0" };

const FOLDER = ".runtimes";

/**
 * Installs a version of Node unless it is already installed. Returns the path of the program. Throws when npm
 * fails.
 */
export function installRuntime(line, version) {
  const folder = join(process.cwd(), FOLDER, line);
  const name = `node-${process.platform}-${process.arch}`;
  const path = join(folder, "node_modules", name, "bin", "node");
  const installed = existsSync(path)
    ? spawnSync(path, ["--version"], { encoding: "utf8" }).stdout.trim()
    : "";
  if (installed === `v${version}`) return path;
  const args = ["install", "--prefix", folder, "--no-save", "--silent", `${name}@${version}`];
  if (spawnSync("npm", args, { stdio: "inherit" }).status !== 0) {
    throw new Error(`npm could not install ${name}@${version}`);
  }
  return path;
}
