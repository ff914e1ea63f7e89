import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const INSTALL_WITHIN_MS = 15 * 60_000;

/** A program that tests need, and that Debian has. */
export interface AptProgram {
  /** The name of the program for people, e.g. "Chromium". */
  readonly name: string;
  /** The commands under which the program can be installed; the first that exists is used. */
  readonly commands: readonly string[];
  /** The package of Debian. */
  readonly package: string;
  /** The size of the installation, e.g. "400 MB". */
  readonly size: string;
}

/**
 * Returns the path of a program. If the program is missing, installs it with apt-get. Throws if the installation is not
 * permitted or fails.
 */
export async function findAptProgram(
  wanted: AptProgram,
  say: (line: string) => void = () => undefined,
): Promise<string> {
  const { name, commands, package: packageName, size } = wanted;
  const byHand = `install ${name}, so that the command ${commands[0] ?? ""} is on the PATH (Debian: apt-get install ${packageName})`;
  const found = await onPath(commands);
  if (found !== undefined) return found;
  say(`${name} is not installed: installing it with apt-get, about ${size} …`);
  try {
    await aptInstall(packageName);
  } catch (error) {
    throw new Error(`tests need ${name}, and apt-get could not install it: ${byHand}`, { cause: error });
  }
  const installed = await onPath(commands);
  if (installed === undefined) throw new Error(byHand);
  return installed;
}

type Say = (line: string) => void;

/** Returns the path of the IRC server ngIRCd, which is installed if it is missing. */
export const findNgircd = (say?: Say): Promise<string> =>
  findAptProgram({ name: "ngIRCd", commands: ["ngircd"], package: "ngircd", size: "1 MB" }, say);

/** Returns the path of the IRC server InspIRCd, which is installed if it is missing. */
export const findInspircd = (say?: Say): Promise<string> =>
  findAptProgram({ name: "InspIRCd", commands: ["inspircd"], package: "inspircd", size: "10 MB" }, say);

/** Returns the path of promtool, the checker of Prometheus's files, which is installed if it is missing. */
export const findPromtool = (say?: Say): Promise<string> =>
  findAptProgram({ name: "promtool", commands: ["promtool"], package: "prometheus", size: "150 MB" }, say);

/** Returns the path of the linter ShellCheck, which is installed if it is missing. */
export const findShellcheck = (say?: Say): Promise<string> =>
  findAptProgram({ name: "ShellCheck", commands: ["shellcheck"], package: "shellcheck", size: "20 MB" }, say);

/** Installs a package of Debian. Rejects if the installation is not permitted or fails. */
export async function aptInstall(packageName: string): Promise<void> {
  const [program = "", ...rights] = process.getuid?.() === 0 ? ["apt-get"] : ["sudo", "-n", "apt-get"];
  // A server that a package installs must not start, because the tests start their own.
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  const options = { timeout: INSTALL_WITHIN_MS, maxBuffer: 64 * 1024 * 1024, env };
  await run(program, [...rights, "update"], options);
  await run(program, [...rights, "install", "-y", "--no-install-recommends", packageName], options);
}

async function onPath(commands: readonly string[]): Promise<string | undefined> {
  // Servers can be in a folder that is only on the PATH of root.
  const env = { ...process.env, PATH: `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin` };
  const look = commands.map((command) => `command -v ${command}`).join(" || ");
  const found = run("/bin/sh", ["-c", look], { env });
  return found.then(({ stdout }) => stdout.trim()).catch(() => undefined);
}
