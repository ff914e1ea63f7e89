import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { StartFault } from "./start-fault";

const run = promisify(execFile);

/** Server programs, in order of preference. The service needs Redis functions, a feature of Redis 7 and later. */
const SERVERS = ["redis-server", "valkey-server"];
const VERSION_MIN = 7;
/** Maximum bytes of a package manager's output. More output counts as a failure. */
const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;

/** The commands that install a server with a package manager, without prompts. */
interface Installer {
  readonly manager: string;
  readonly prepare: readonly string[];
  readonly install: readonly string[];
  /** Packages to try, in order. */
  readonly packages: readonly string[];
  /** Whether the package manager must run as root. */
  readonly asRoot: boolean;
}

const INSTALLERS: readonly Installer[] = [
  {
    manager: "apt-get",
    prepare: ["update"],
    install: ["install", "-y", "--no-install-recommends"],
    packages: ["redis-server", "valkey-server"],
    asRoot: true,
  },
  { manager: "dnf", prepare: [], install: ["install", "-y"], packages: ["valkey", "redis"], asRoot: true },
  { manager: "apk", prepare: [], install: ["add"], packages: ["redis", "valkey"], asRoot: true },
  { manager: "brew", prepare: [], install: ["install"], packages: ["redis"], asRoot: false },
];

const NEEDED = "Redis 7 or Valkey is needed";
const OR_SET = "or set REDIS_URL to a running server";

/**
 * Resolves to the command of a Redis server on this machine. If no server is installed and the user has the necessary
 * rights, installs a server with the system's package manager. Before the installation, calls `say` with a line for the
 * user.
 *
 * Throws StartFault with one line that says what to install.
 */
export async function findRedisServer(say: (line: string) => void, signal?: AbortSignal): Promise<string> {
  const found = await findOnPath();
  if (found !== undefined) return found;
  for (const installer of INSTALLERS) {
    const { fault } = await attempt([installer.manager, "--version"]);
    if (fault === undefined) return install(installer, say, signal);
  }
  throw new StartFault(`${NEEDED}: install redis-server or valkey-server and put it on the PATH, ${OR_SET}.`);
}

async function install(
  { manager, prepare, install, packages, asRoot }: Installer,
  say: (line: string) => void,
  signal: AbortSignal | undefined,
): Promise<string> {
  const byHand = [...(asRoot ? ["sudo"] : []), manager, ...install, packages[0]].join(" ");
  const rights = asRoot ? await rootRights() : [];
  if (rights === undefined) throw new StartFault(`${NEEDED}: run ${byHand}, ${OR_SET}.`);
  say(`Redis 7 is not installed: installing it with ${manager} …`);
  let failure: string | undefined;
  if (prepare.length > 0) failure = (await attempt([...rights, manager, ...prepare], signal)).fault;
  for (const name of packages) {
    failure = (await attempt([...rights, manager, ...install, name], signal)).fault ?? failure;
    signal?.throwIfAborted();
    const installed = await findOnPath();
    if (installed !== undefined) return installed;
  }
  const why = failure ?? "the available packages are older than Redis 7";
  throw new StartFault(`${NEEDED}, and ${manager} could not install it (${why}): run ${byHand}, ${OR_SET}.`);
}

async function findOnPath(): Promise<string | undefined> {
  for (const server of SERVERS) {
    const { output = "" } = await attempt([server, "--version"]);
    if (Number(/v=(\d+)/.exec(output)?.[1]) >= VERSION_MIN) return server;
  }
  return undefined;
}

/**
 * Resolves to the prefix for commands that must run as root, such as `sudo -n`; undefined if the user cannot become
 * root.
 */
async function rootRights(): Promise<readonly string[] | undefined> {
  if (process.getuid?.() === 0) return [];
  return (await attempt(["sudo", "-n", "true"])).fault === undefined ? ["sudo", "-n"] : undefined;
}

/**
 * Runs a command without input. Resolves to the command's output. If the command fails, `fault` is the last line of its
 * output.
 */
async function attempt(
  [command = "", ...args]: readonly string[],
  signal?: AbortSignal,
): Promise<{ readonly output?: string; readonly fault?: string }> {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const running = run(command, args, { env, maxBuffer: OUTPUT_MAX_BYTES, ...(signal && { signal }) });
  running.child.stdin?.on("error", () => undefined).end();
  try {
    return { output: (await running).stdout };
  } catch (error) {
    const { message, stdout = "", stderr = "" } = error as Error & { stdout?: string; stderr?: string };
    return { fault: `${stdout}${stderr}`.trim().split("\n").at(-1) || message };
  }
}
