import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { aptInstall } from "./apt";
import { TOOLS_FOLDER, type Say } from "./tools-folder";

const run = promisify(execFile);

const INSTALL_WITHIN_MS = 10 * 60_000;
const BY_HAND = "install Python 3.10 or later with venv (Debian: apt-get install python3-venv)";

/** A program that the tests need, available from PyPI. */
export interface PypiProgram {
  /** The name of the program in messages, e.g. "Synapse". */
  readonly name: string;
  readonly package: string;
  readonly version: string;
  /** The size of the installation, e.g. "150 MB". */
  readonly size: string;
}

const SYNAPSE = { name: "Synapse", package: "matrix-synapse", version: "1.163.2", size: "150 MB" };
const SLIXMPP = { name: "slixmpp", package: "slixmpp", version: "1.17.0", size: "40 MB" };
const VALIDATOR = {
  name: "kubernetes-validate",
  package: "kubernetes-validate",
  version: "1.37.0",
  size: "150 MB",
};

/**
 * With the extra `e2e`, matrix-nio encrypts with libolm, which pip compiles with cmake if PyPI has no wheel for the
 * machine. Later releases of matrix-nio use the same primitives as the bridge.
 */
const NIO = { name: "matrix-nio", package: "matrix-nio[e2e]", version: "0.25.2", size: "65 MB" };

/** Returns the path of the Python that runs Synapse, the Matrix homeserver of the tests. Installs Synapse if it is missing. */
export const installSynapse = (say: Say): Promise<string> => installFromPypi(SYNAPSE, say);
/** Returns the path of the Python that runs slixmpp, the XMPP client of the tests. Installs slixmpp if it is missing. */
export const installSlixmpp = (say?: Say): Promise<string> => installFromPypi(SLIXMPP, say);
/** Returns the path of the Python that runs matrix-nio, a Matrix client of the tests. */
export const installNio = (say: Say): Promise<string> => installFromPypi(NIO, say);
/** Returns the path of the Python that runs kubernetes-validate. Installs kubernetes-validate if it is missing. */
export const installKubernetesValidate = (say?: Say): Promise<string> => installFromPypi(VALIDATOR, say);

/** Installs Python with virtual environments, unless it is already installed. Throws if the installation fails. */
export async function preparePython(say: Say): Promise<void> {
  const look = run("python3", ["-c", "import ensurepip, venv"]);
  if (await look.then(() => true).catch(() => false)) return;
  say("installing with apt-get: Python with venv (50 MB) …");
  await aptInstall("python3-venv").catch((error: unknown) => {
    throw new Error(`the tests need Python, and apt-get failed: ${BY_HAND}`, { cause: error });
  });
}

/**
 * Installs a package of PyPI into a virtual environment in the tools folder, unless it is already installed. Returns the
 * path of the environment's Python. Throws if the installation fails.
 */
export async function installFromPypi(wanted: PypiProgram, say: Say = () => undefined): Promise<string> {
  const { name, version, size } = wanted;
  const folder = join(TOOLS_FOLDER, `${name.toLowerCase()}-${version}`);
  const python = join(folder, "bin", "python");
  if (await runs(python)) return python;
  await preparePython(say);
  say(`installing from PyPI: ${name} (${size}) …`);
  await mkdir(TOOLS_FOLDER, { recursive: true });
  const unfinished = `${folder}.${process.pid}`;
  const options = { timeout: INSTALL_WITHIN_MS, maxBuffer: 16 * 1024 * 1024 };
  try {
    await run("python3", ["-m", "venv", unfinished], options);
    const pip = ["-m", "pip", "install", "--quiet", "--no-input", `${wanted.package}==${version}`];
    await run(join(unfinished, "bin", "python"), pip, options);
    // Another process may have installed the package meanwhile.
    if (!(await runs(python))) {
      await rm(folder, { recursive: true, force: true });
      await rename(unfinished, folder);
    }
  } catch (error) {
    throw new Error(`the tests need ${name}, and it could not be installed: ${BY_HAND}`, { cause: error });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return python;
}

/**
 * Returns whether the Python of a virtual environment runs. It no longer runs after the system's Python was replaced by
 * a different release.
 */
async function runs(python: string): Promise<boolean> {
  if (!existsSync(python)) return false;
  return run(python, ["-c", "import pip"]).then(
    () => true,
    () => false,
  );
}
