// Supported releases of Node and TypeScript, installed from npm packages. Old releases of TypeScript are not development
// dependencies, because each of them would replace the command `tsc`.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Versions of Node, by release line. */
export const RUNTIMES = { 22: "22.23.3", 24: "24.21.0", 26: "26.10.0" };

/** Old versions of TypeScript that bridges may use, by release line. The project itself uses a newer version. */
export const TYPESCRIPTS = { "5.0": "5.0.4", 5.9: "5.9.3" };

const FOLDER = join(process.cwd(), ".runtimes");

/**
 * Installs a version of Node unless it is already installed. Returns the path of the program. Throws when npm
 * fails.
 */
export function installRuntime(line, version) {
  return join(installPackage(line, `node-${process.platform}-${process.arch}`, version), "bin", "node");
}

/** Installs the old versions of TypeScript unless they are already installed. Returns the paths of their compilers. */
export function installTypeScripts() {
  return Object.entries(TYPESCRIPTS).map(([line, version]) =>
    join(installPackage(`typescript-${line}`, "typescript", version), "bin", "tsc"),
  );
}

/** Returns the folder of an installed package. */
function installPackage(name, packageName, version) {
  const folder = join(FOLDER, name);
  const path = join(folder, "node_modules", packageName);
  if (versionOf(path) === version) return path;
  const args = ["install", "--prefix", folder, "--no-save", "--silent", `${packageName}@${version}`];
  if (spawnSync("npm", args, { stdio: "inherit" }).status !== 0) {
    throw new Error(`npm could not install ${packageName}@${version}`);
  }
  return path;
}

function versionOf(path) {
  const file = join(path, "package.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).version : undefined;
}
