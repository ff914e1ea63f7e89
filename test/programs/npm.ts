import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { TOOLS_FOLDER, type Say } from "./tools-folder";

const run = promisify(execFile);
const INSTALL_WITHIN_MS = 10 * 60_000;

/** Supported releases of Node, by release line. */
export const NODES: Readonly<Record<string, string>> = { 22: "22.23.3", 24: "24.21.0", 26: "26.10.0" };

/**
 * Old releases of TypeScript that bridges may use. They are not development dependencies, because each of them would
 * replace the project's command `tsc`.
 */
export const TYPESCRIPTS = ["5.0.4", "5.9.3"];

/**
 * Returns the path of the program `node` of a release. Installs the release if it is missing. Throws when npm fails.
 */
export async function installNode(version: string, say: Say): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  return join(await installPackage(name, version, say), "bin", "node");
}

/** Returns the paths of the compilers of old releases of TypeScript. Installs missing ones. Throws when npm fails. */
export async function installTypeScripts(say: Say = () => undefined): Promise<readonly string[]> {
  const packages = await Promise.all(TYPESCRIPTS.map((each) => installPackage("typescript", each, say)));
  return packages.map((folder) => join(folder, "bin", "tsc"));
}

/** Installs a package in the tools folder, unless it is already installed. Returns the package's folder. */
async function installPackage(name: string, version: string, say: Say): Promise<string> {
  const folder = join(TOOLS_FOLDER, `${name}-${version}`);
  const path = join(folder, "node_modules", name);
  if (versionOf(path) === version) return path;
  say(`installing with npm: ${name} ${version} …`);
  // Each process installs into a temporary folder with its own name, so that two processes can install the same package
  // at once.
  const unfinished = `${folder}.${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  const args = ["install", "--prefix", unfinished, "--no-save", "--silent", `${name}@${version}`];
  try {
    await run("npm", args, { timeout: INSTALL_WITHIN_MS });
    if (versionOf(path) !== version) {
      await rm(folder, { recursive: true, force: true });
      await rename(unfinished, folder);
    }
  } catch (error) {
    throw new Error(`npm could not install ${name}@${version}`, { cause: error });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return path;
}

function versionOf(path: string): string | undefined {
  const file = join(path, "package.json");
  if (!existsSync(file)) return undefined;
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
