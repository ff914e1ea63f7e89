import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";
import type { SetupAnswers } from "./answers";
import { PACKAGE, RELEASE } from "./paths";
import type { Place } from "./planned-files";

/** Folders in which programs are looked up, in addition to the folders in PATH. */
const PROGRAM_FOLDERS = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/** The paths of programs from Debian's packages, used when the files are for another machine. */
export const DEBIAN: Place = { node: "/usr/bin/node", redisServer: "/usr/bin/redis-server" };
const OLDEST_REDIS = 7;
/** Folders that the hardened systemd units cannot read. */
const HIDDEN_FOLDER = /^\/(home|root|run\/user|tmp|var\/tmp)\//;

/** Returns the path of a program, or undefined if the program is not installed. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), ...PROGRAM_FOLDERS];
  return folders
    .filter((folder) => folder.startsWith("/"))
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the paths of the programs on this machine. */
export function thisPlace(): Place {
  return { node: process.execPath, redisServer: findProgram("redis-server") ?? DEBIAN.redisServer };
}

/** Resolves to the reasons why this machine cannot run the service yet, each with advice on what to do. */
export async function machineFaults(answers: SetupAnswers, isFirst: boolean): Promise<readonly string[]> {
  return [
    ...rightsFaults(),
    ...releaseFaults(),
    ...redisFaults(),
    ...proxyFaults(answers),
    ...(isFirst ? await portFaults(answers) : []),
  ];
}

function rightsFaults(): readonly string[] {
  return [
    ...(process.getuid?.() === 0 ? [] : ["setup must run as root: run sudo chat-bridge setup"]),
    ...(existsSync("/run/systemd/system")
      ? []
      : [
          "systemd does not run on this machine: write the files to a folder with --root, or use Docker (docs/install.md)",
        ]),
  ];
}

function releaseFaults(): readonly string[] {
  const faults: string[] = [];
  if (!existsSync(RELEASE) || realpathSync(RELEASE) !== realpathSync(PACKAGE)) {
    faults.push(
      `${RELEASE} is not the release that you run (${PACKAGE}): unpack the release below /opt/chat-bridge, and run ` +
        `ln -sfn <folder of the release> ${RELEASE}`,
    );
  }
  if (HIDDEN_FOLDER.test(process.execPath)) {
    faults.push(
      `the units cannot run ${process.execPath}, because they cannot read that folder: install Node for all users, e.g. in /usr`,
    );
  }
  return faults;
}

function redisFaults(): readonly string[] {
  const path = findProgram("redis-server");
  if (path === undefined) {
    return [
      "Redis is not installed: run apt-get install redis-server && systemctl disable --now redis-server",
    ];
  }
  const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8" });
  const [, major] = /v=(\d+)\./.exec(stdout ?? "") ?? [];
  if (Number(major) >= OLDEST_REDIS) return [];
  return [`${path} is older than Redis ${OLDEST_REDIS}: install a newer release (docs/redis.md)`];
}

function proxyFaults({ proxy }: SetupAnswers): readonly string[] {
  if (proxy === "none") return [];
  const missing = [
    { program: proxy, debian: proxy },
    { program: "nft", debian: "nftables" },
  ].filter(({ program }) => findProgram(program) === undefined);
  return missing.map(({ program, debian }) => `${program} is not installed: run apt-get install ${debian}`);
}

const STOP = "stop the other program (ss -ltnp lists it)";
const STOP_REDIS = "stop the other Redis (systemctl disable --now redis-server)";

/** Resolves to the ports on which the service cannot listen. */
async function portFaults({ redisPort }: SetupAnswers): Promise<readonly string[]> {
  const ports: readonly (readonly [number, string])[] = [
    [redisPort, `Redis: ${STOP_REDIS}, or give another port with --redis-port`],
    [8080, `the edge: ${STOP}`],
    [8081, `the edge's probes: ${STOP}`],
    [8082, `the dashboard: ${STOP}`],
    [50051, `core: ${STOP}`],
    [50052, `core's probes: ${STOP}`],
  ];
  const found = await Promise.all(
    ports.map(async ([port, use]) =>
      (await isFree(port)) ? [] : [`port ${port} is in use, but is needed for ${use}`],
    ),
  );
  return found.flat();
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
      .on("error", () => resolve(false))
      .listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
