import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { aptInstall } from "../../../../test/harness/apt-program";

const run = promisify(execFile);

/** The homeserver that the tests use, from PyPI. */
const VERSION = "1.163.2";
const RUNTIMES = join(__dirname, "../../../../.runtimes");
const INSTALL_WITHIN_MS = 10 * 60_000;
const BY_HAND = "install Python 3.10 or later with venv (Debian: apt-get install python3-venv)";

/**
 * Installs Synapse into a virtual environment in `.runtimes`, unless it is already installed: about 150 MB, in a
 * minute. Returns the path of the environment's Python. Throws if the installation fails.
 */
export async function installSynapse(say: (line: string) => void): Promise<string> {
  const folder = join(RUNTIMES, `synapse-${VERSION}`);
  const python = join(folder, "bin", "python");
  if (existsSync(python)) return python;
  say("Synapse is not installed: installing it from PyPI, about 150 MB …");
  await mkdir(RUNTIMES, { recursive: true });
  const unfinished = `${folder}.${process.pid}`;
  const options = { timeout: INSTALL_WITHIN_MS, maxBuffer: 16 * 1024 * 1024 };
  try {
    await run("python3", ["-m", "venv", unfinished], options).catch(async () => {
      await aptInstall("python3-venv");
      await rm(unfinished, { recursive: true, force: true });
      await run("python3", ["-m", "venv", unfinished], options);
    });
    const pip = ["-m", "pip", "install", "--quiet", "--no-input", `matrix-synapse==${VERSION}`];
    await run(join(unfinished, "bin", "python"), pip, options);
    // Another worker may have installed Synapse meanwhile.
    if (!existsSync(python)) await rename(unfinished, folder);
  } catch (error) {
    throw new Error(`the tests need Synapse, and it could not be installed: ${BY_HAND}`, { cause: error });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return python;
}
