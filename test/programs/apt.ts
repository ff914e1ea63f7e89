import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { TOOLS_FOLDER, type Say } from "./tools-folder";

const run = promisify(execFile);
const INSTALL_WITHIN_MS = 15 * 60_000;

/** A program that the tests need, available as a Debian package. */
export interface AptProgram {
  /** The name of the program in messages, e.g. "Chromium". */
  readonly name: string;
  /** The command that the package installs. */
  readonly command: string;
  /** Substitutes if the package cannot be installed: the first of these commands that exists is used. */
  readonly substitutes?: readonly string[];
  /** The package of Debian. */
  readonly package: string;
  /** The size of the installation, e.g. "400 MB". */
  readonly size: string;
}

const CHROMIUM: AptProgram = {
  name: "Chromium",
  // The headless shell takes a sixth of Chromium's processor time to open a page, so it is installed in addition to
  // Chromium.
  command: "chromium-headless-shell",
  substitutes: ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"],
  package: "chromium-headless-shell",
  size: "260 MB",
};
const NGIRCD = { name: "ngIRCd", command: "ngircd", package: "ngircd", size: "1 MB" };
const INSPIRCD = { name: "InspIRCd", command: "inspircd", package: "inspircd", size: "10 MB" };
const PROSODY = { name: "Prosody", command: "prosody", package: "prosody", size: "5 MB" };
const EJABBERD = { name: "ejabberd", command: "ejabberdctl", package: "ejabberd", size: "55 MB" };
/** The program that checks Prometheus's files. Its package also contains Prometheus. */
const PROMTOOL = { name: "promtool", command: "promtool", package: "prometheus", size: "150 MB" };
const PROMETHEUS = { ...PROMTOOL, name: "Prometheus", command: "prometheus" };
const NODE_EXPORTER = {
  name: "the node exporter",
  command: "prometheus-node-exporter",
  package: "prometheus-node-exporter",
  size: "15 MB",
};
const SHELLCHECK = { name: "ShellCheck", command: "shellcheck", package: "shellcheck", size: "20 MB" };
const HAPROXY = { name: "HAProxy", command: "haproxy", package: "haproxy", size: "5 MB" };
const NGINX = { name: "nginx", command: "nginx", package: "nginx-light", size: "5 MB" };
const CADDY = { name: "Caddy", command: "caddy", package: "caddy", size: "40 MB" };
/** The programs that check systemd units, and create users and folders. */
const SYSTEMD = { name: "systemd", command: "systemd-analyze", package: "systemd", size: "20 MB" };

/** All Debian packages that the tests need, except Redis, which `npm start` also installs. */
export const APT_PROGRAMS: readonly AptProgram[] = [
  CHROMIUM,
  NGIRCD,
  INSPIRCD,
  PROSODY,
  EJABBERD,
  PROMTOOL,
  NODE_EXPORTER,
  SHELLCHECK,
  HAPROXY,
  NGINX,
  CADDY,
  SYSTEMD,
];

// Each function returns the path of its program, and installs the program first if it is missing. Each throws if the
// installation is not permitted or fails.
export const findChromium = (say?: Say): Promise<string> => findAptProgram(CHROMIUM, say);
export const findNgircd = (say?: Say): Promise<string> => findAptProgram(NGIRCD, say);
export const findInspircd = (say?: Say): Promise<string> => findAptProgram(INSPIRCD, say);
export const findProsody = (say?: Say): Promise<string> => findAptProgram(PROSODY, say);
export const findEjabberd = (say?: Say): Promise<string> => findAptProgram(EJABBERD, say);
export const findPromtool = (say?: Say): Promise<string> => findAptProgram(PROMTOOL, say);
export const findPrometheus = (say?: Say): Promise<string> => findAptProgram(PROMETHEUS, say);
export const findNodeExporter = (say?: Say): Promise<string> => findAptProgram(NODE_EXPORTER, say);
export const findShellcheck = (say?: Say): Promise<string> => findAptProgram(SHELLCHECK, say);
export const findHaproxy = (say?: Say): Promise<string> => findAptProgram(HAPROXY, say);
export const findNginx = (say?: Say): Promise<string> => findAptProgram(NGINX, say);
export const findCaddy = (say?: Say): Promise<string> => findAptProgram(CADDY, say);
export const findSystemd = (say?: Say): Promise<string> => findAptProgram(SYSTEMD, say);

async function findAptProgram(wanted: AptProgram, say: Say = () => undefined): Promise<string> {
  await installMissing([wanted], say);
  const installed = await onPath(commandsOf(wanted));
  if (installed === undefined) throw new Error(`${wanted.name} is not on the PATH: ${byHand([wanted])}`);
  return installed;
}

const commandsOf = ({ command, substitutes = [] }: AptProgram) => [command, ...substitutes];

/** Programs that could not be installed, but have a substitute. This process does not try to install them again. */
const substituted = new Set<AptProgram>();

/**
 * Installs the programs that are missing. Throws if the installation is not permitted or fails, unless a substitute
 * for the program is on the PATH. A substitute is needed where a package is missing, as on some releases of Ubuntu.
 */
export async function installMissing(wanted: readonly AptProgram[], say: Say): Promise<void> {
  const required: AptProgram[] = [];
  for (const each of wanted) {
    if (substituted.has(each) || (await onPath([each.command])) !== undefined) continue;
    const substitute = await onPath(each.substitutes ?? []);
    if (substitute === undefined) required.push(each);
    else
      await install([each], say).catch(() => {
        substituted.add(each);
        say(`${each.package} could not be installed: the tests use ${substitute}`);
      });
  }
  if (required.length > 0) await install(required, say);
}

/** Installs programs with one call of apt-get. */
async function install(programs: readonly AptProgram[], say: Say): Promise<void> {
  const names = programs.map(({ name, size }) => `${name} (${size})`).join(", ");
  say(`installing with apt-get: ${names} …`);
  try {
    await aptInstall(...programs.map((each) => each.package));
  } catch (error) {
    throw new Error(`the tests need ${names}, and apt-get failed: ${byHand(programs)}`, { cause: error });
  }
}

const byHand = (missing: readonly AptProgram[]): string =>
  missing.map((each) => `install ${each.command} (Debian: apt-get install ${each.package})`).join("; ");

/**
 * Installs packages of Debian. Rejects if the installation is not permitted or fails. apt-get fails while another
 * apt-get runs, so processes that call this function take turns.
 */
export async function aptInstall(...packages: readonly string[]): Promise<void> {
  // The installed servers must not start by themselves, because the tests start their own.
  const quiet = ["env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"];
  const command = [...(process.getuid?.() === 0 ? [] : ["sudo", "-n"]), ...quiet].join(" ");
  const install = `${command} apt-get update && ${command} apt-get install -y --no-install-recommends "$@"`;
  mkdirSync(TOOLS_FOLDER, { recursive: true });
  const options = { timeout: INSTALL_WITHIN_MS, maxBuffer: 64 * 1024 * 1024 };
  await run("flock", [join(TOOLS_FOLDER, "apt.lock"), "sh", "-c", install, "sh", ...packages], options);
}

async function onPath(commands: readonly string[]): Promise<string | undefined> {
  // Some servers are installed in a folder that is only on root's PATH.
  const env = { ...process.env, PATH: `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin` };
  if (commands.length === 0) return undefined;
  const look = commands.map((command) => `command -v ${command}`).join(" || ");
  const found = run("/bin/sh", ["-c", look], { env });
  return found.then(({ stdout }) => stdout.trim()).catch(() => undefined);
}
