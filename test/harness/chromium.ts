import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

const COMMANDS = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
const INSTALL_WITHIN_MS = 15 * 60_000;
const BY_HAND =
  "install Chromium, so that the command chromium is on the PATH (Debian: apt-get install chromium)";

/**
 * Returns the path of Chromium. If Chromium is missing, installs it with apt-get. Throws if the installation is not
 * permitted or fails.
 */
export async function findChromium(say: (line: string) => void = () => undefined): Promise<string> {
  const found = await onPath();
  if (found !== undefined) return found;
  const [program, ...rights] = process.getuid?.() === 0 ? ["apt-get"] : ["sudo", "-n", "apt-get"];
  if (program === undefined) throw new Error(BY_HAND);
  say("Chromium is not installed: installing it with apt-get, about 400 MB …");
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const options = { timeout: INSTALL_WITHIN_MS, maxBuffer: 64 * 1024 * 1024, env };
  try {
    await run(program, [...rights, "update"], options);
    await run(program, [...rights, "install", "-y", "--no-install-recommends", "chromium"], options);
  } catch (error) {
    throw new Error(`browser tests need Chromium, and apt-get could not install it: ${BY_HAND}`, {
      cause: error,
    });
  }
  const installed = await onPath();
  if (installed === undefined) throw new Error(BY_HAND);
  return installed;
}

async function onPath(): Promise<string | undefined> {
  const look = COMMANDS.map((command) => `command -v ${command}`).join(" || ");
  const found = run("/bin/sh", ["-c", look]);
  return found.then(({ stdout }) => stdout.trim()).catch(() => undefined);
}
