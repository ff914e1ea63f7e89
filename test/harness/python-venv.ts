import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { aptInstall } from "./apt-program";

const run = promisify(execFile);

const RUNTIMES = join(__dirname, "../../.runtimes");
const INSTALL_WITHIN_MS = 10 * 60_000;
const BY_HAND = "install Python 3.10 or later with venv (Debian: apt-get install python3-venv)";

type Say = (line: string) => void;

/** A program that tests need, and that PyPI has. */
export interface PypiProgram {
  /** The name of the program for people, e.g. "Synapse". */
  readonly name: string;
  readonly package: string;
  readonly version: string;
  /** The size of the installation, e.g. "150 MB". */
  readonly size: string;
}

/** Installs Python with virtual environments, unless it is already installed. Throws if the installation fails. */
export async function preparePython(say: Say): Promise<void> {
  const look = run("python3", ["-c", "import ensurepip, venv"]);
  if (await look.then(() => true).catch(() => false)) return;
  say("Python with venv is not installed: installing it with apt-get, about 50 MB …");
  await aptInstall("python3-venv").catch((error: unknown) => {
    throw new Error(`tests need Python, and apt-get could not install it: ${BY_HAND}`, { cause: error });
  });
}

/**
 * Installs a package of PyPI into a virtual environment in `.runtimes`, unless it is already installed. Returns the path
 * of the environment's Python. Throws if the installation fails.
 */
export async function installFromPypi(wanted: PypiProgram, say: Say): Promise<string> {
  const { name, version, size } = wanted;
  const folder = join(RUNTIMES, `${name.toLowerCase()}-${version}`);
  const python = join(folder, "bin", "python");
  if (existsSync(python)) return python;
  await preparePython(say);
  say(`${name} is not installed: installing it from PyPI, about ${size} …`);
  await mkdir(RUNTIMES, { recursive: true });
  const unfinished = `${folder}.${process.pid}`;
  const options = { timeout: INSTALL_WITHIN_MS, maxBuffer: 16 * 1024 * 1024 };
  try {
    await run("python3", ["-m", "venv", unfinished], options);
    const pip = ["-m", "pip", "install", "--quiet", "--no-input", `${wanted.package}==${version}`];
    await run(join(unfinished, "bin", "python"), pip, options);
    // Another worker may have installed the package meanwhile.
    if (!existsSync(python)) await rename(unfinished, folder);
  } catch (error) {
    throw new Error(`the tests need ${name}, and it could not be installed: ${BY_HAND}`, { cause: error });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return python;
}
