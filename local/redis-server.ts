import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Programs that serve Redis, best first. Both must know functions, which came with Redis 7. */
const SERVERS = ["redis-server", "valkey-server"];
const VERSION_MIN = 7;

/** How each system's package manager installs one, without asking. */
const INSTALLERS: readonly { readonly manager: string; readonly commands: readonly (readonly string[])[] }[] =
  [
    {
      manager: "apt-get",
      commands: [
        ["apt-get", "update"],
        ["apt-get", "install", "-y", "--no-install-recommends", "redis-server"],
      ],
    },
    { manager: "dnf", commands: [["dnf", "install", "-y", "redis"]] },
    { manager: "apk", commands: [["apk", "add", "redis"]] },
    { manager: "brew", commands: [["brew", "install", "redis"]] },
  ];

/**
 * The command of a Redis server on this machine. Where there is none, the
 * system's package manager installs one, if it may; `say` is told of it.
 *
 * Throws with one line that says what to install.
 */
export async function findRedisServer(say: (line: string) => void): Promise<string> {
  const found = await findOnPath();
  if (found !== undefined) return found;
  for (const { manager, commands } of INSTALLERS) {
    if (!(await answers(manager, ["--version"]))) continue;
    const prefix = await privilege(manager);
    if (prefix === undefined) break;
    say(`There is no Redis here: installing it with ${manager} …`);
    for (const command of commands) await quietly([...prefix, ...command]);
    const installed = await findOnPath();
    if (installed !== undefined) return installed;
  }
  throw new Error(
    "Redis 7 or Valkey is needed: install redis-server or valkey-server with your system's package manager, or set REDIS_URL to one that runs.",
  );
}

async function findOnPath(): Promise<string | undefined> {
  for (const server of SERVERS) {
    const version = await answers(server, ["--version"]);
    if (version !== undefined && Number(/v=(\d+)/.exec(version)?.[1]) >= VERSION_MIN) return server;
  }
  return undefined;
}

/** What a command prints, or undefined when it is not there or fails. */
async function answers(command: string, args: readonly string[]): Promise<string | undefined> {
  try {
    return (await run(command, [...args])).stdout;
  } catch {
    return undefined;
  }
}

/** What to put before a command of the manager so that it may install; undefined when it may not. */
async function privilege(manager: string): Promise<readonly string[] | undefined> {
  if (manager === "brew" || process.getuid?.() === 0) return [];
  return (await answers("sudo", ["-n", "true"])) === undefined ? undefined : ["sudo", "-n"];
}

/** Runs a command whose output matters only when it fails. */
function quietly([command = "", ...args]: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
    const tail: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        tail.push(chunk);
        if (tail.length > 20) tail.shift();
      });
    }
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${command} ${args.join(" ")} failed:\n${Buffer.concat(tail).toString()}`));
    });
  });
}
