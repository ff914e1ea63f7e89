import { execFile, execFileSync, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { ROOT } from "../harness/compose-file";
import { freePort } from "../harness/processes";
import { until } from "../harness/wait";

const run = promisify(execFile);
const PROBED_WITHIN_MS = 180_000;
const STOP_SECONDS = "20";
const PORTS = ["EDGE", "CORE", "DASHBOARD", "CHAT", "PICTURES", "MAIL"] as const;

/** Returns whether this machine has a Docker engine with Compose; if not, prints that `tests` are skipped. */
export function findEngine(tests: string): boolean {
  const works = (...args: string[]): boolean => spawnSync("docker", args).status === 0;
  if (works("info") && works("compose", "version")) return true;
  process.stderr.write(`SKIPPED: ${tests} (this machine has no Docker engine with Compose)\n`);
  return false;
}

/** A container, as `docker inspect` reports it. */
export interface Container {
  readonly id: string;
  readonly service: string;
  /** The process id of the container's main process on the engine's machine; 0 while the container is not running. */
  readonly pid: number;
  /** Result of the health check; undefined if the container has no health check, or has stopped. */
  readonly health: string | undefined;
}

export type Installation = Awaited<ReturnType<typeof createInstallation>>;

/**
 * Prepares an installation of docker-compose.yml on free ports, with its own project and image. Nothing is started.
 * `destroy` removes the containers, networks, volumes and the image.
 */
export async function createInstallation(name: string, settings: Readonly<Record<string, string>> = {}) {
  const project = `${name}-${process.pid}`;
  const ports: Record<string, string> = {};
  for (const each of PORTS) ports[`${each}_PORT`] = String(await freePort());
  const base = {
    ...process.env,
    ...ports,
    COMPOSE_PROJECT_NAME: project,
    CHAT_BRIDGE_IMAGE: project,
    ...settings,
  };
  const options = (more: object) => ({
    cwd: ROOT,
    env: { ...base, ...more },
    maxBuffer: 64 * 1024 * 1024,
  });

  /** Runs docker compose, and returns the standard output. Throws if the command fails. */
  async function compose(...args: readonly string[]): Promise<string> {
    return (await run("docker", ["compose", ...args], options({}))).stdout;
  }

  async function containers(): Promise<readonly Container[]> {
    const ids = (await compose("ps", "--quiet", "--all", "--no-trunc")).split("\n").filter(Boolean);
    if (ids.length === 0) return [];
    const { stdout } = await run("docker", ["inspect", ...ids], options({}));
    const inspected = JSON.parse(stdout) as {
      Id: string;
      Config: { Labels: Record<string, string> };
      State: { Pid: number; Health?: { Status: string } };
    }[];
    return inspected.map(({ Id, Config, State }) => ({
      id: Id,
      service: Config.Labels["com.docker.compose.service"] ?? "",
      pid: State.Pid,
      health: State.Health?.Status,
    }));
  }

  return {
    compose,
    containers,
    url: (port: (typeof PORTS)[number]): string => `http://127.0.0.1:${ports[`${port}_PORT`]}`,
    /** Waits until all containers with a health check are healthy. */
    healthy: () =>
      until(
        "all containers are healthy",
        async () => {
          const probed = (await containers()).filter(({ health }) => health !== undefined);
          return probed.length > 0 && probed.every(({ pid, health }) => pid > 0 && health === "healthy");
        },
        PROBED_WITHIN_MS,
      ),
    /**
     * Upgrades with deploy/compose/roll.sh, and returns its output. `more` contains the settings of the new release.
     */
    async roll(more: Readonly<Record<string, string>>): Promise<string> {
      return (await run("deploy/compose/roll.sh", ["--no-build"], options(more))).stdout;
    },
    /**
     * Kills the main process of a container as a crash would. A helper container sends the signal: Docker does not
     * restart a container after `docker kill`, and a process inside the container cannot kill the main process.
     */
    async crash({ pid }: Container): Promise<void> {
      const kill = `process.kill(${pid}, "SIGKILL")`;
      const rights = ["--rm", "--pid=host", "--user=0:0", "--network=none", "--entrypoint=node"];
      await run("docker", ["run", ...rights, project, "-e", kill], options({}));
    },
    destroy(): void {
      const args = ["--profile", "tools", "down", "--volumes", "--remove-orphans", "--timeout", STOP_SECONDS];
      execFileSync("docker", ["compose", ...args], { ...options({}), stdio: "ignore" });
      spawnSync("docker", ["image", "rm", project]);
    },
  };
}
