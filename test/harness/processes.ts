import { spawn, type ChildProcess } from "node:child_process";
import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The tokens that core accepts in tests, by role. */
export const TOKENS = {
  edge: "edge-token-for-tests",
  game: "game-token-for-tests",
  operator: "operator-token-for-tests",
} as const;
export const SECRETS_KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

export type LogLine = Readonly<Record<string, unknown>>;

/** A real process of the project, started from dist. */
export interface RunningProcess {
  readonly port: number;
  readonly healthPort: number;
  readonly pid: number;
  /** All log lines so far; for a shared process, the lines since the test file began. */
  readonly log: readonly LogLine[];
  /** All output on standard error so far. The log is on standard output. */
  readonly errors: string;
}

/** A process that belongs to one test file. The file may stop and kill the process. */
export interface TestProcess extends RunningProcess {
  readonly child: ChildProcess;
  /** Sends a signal and waits for the exit. Returns the exit code, or null when the signal ended the process. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

type Environment = Readonly<Record<string, string>>;

/** The folder of the release under test. */
export const THIS_RELEASE = join(__dirname, "../..");

/**
 * Starts core on free ports, connected to a Redis server. Resolves when core is ready.
 *
 * @param release the folder of a built release; by default, the release under test
 */
export function startCore(
  redisUrl: string,
  environment: Environment = {},
  release = THIS_RELEASE,
): Promise<TestProcess> {
  const settings = {
    REDIS_URL: redisUrl,
    CORE_LISTEN: "127.0.0.1:0",
    CORE_TOKENS: String(Object.entries(TOKENS).map((each) => each.join("="))),
    SECRETS_KEY,
    ...environment,
  };
  return startProcess("core", settings, { release });
}

/**
 * Starts an edge on free ports, connected to a core on loopback. Resolves when the edge is ready. If `when` is
 * "listening", resolves as soon as the edge listens, even without a core.
 */
export function startEdge(
  corePort: number,
  environment: Environment = {},
  when: "ready" | "listening" = "ready",
  release = THIS_RELEASE,
): Promise<TestProcess> {
  const settings = {
    CORE_ADDRESS: `127.0.0.1:${corePort}`,
    CORE_TOKEN: TOKENS.edge,
    EDGE_LISTEN: "127.0.0.1:0",
    ...environment,
  };
  return startProcess("edge", settings, { when, release });
}

/**
 * The lowest port that `freePort` returns. Ports from `freePort` are below the system's ephemeral ports, because a
 * connection could occupy an ephemeral port while a process restarts.
 */
const PORTS_FROM = 10_000;
/** The number of ports that each jest worker can use. The ranges of up to eight workers do not overlap. */
const PORTS_EACH = 2_500;
const worker = Number(process.env["JEST_WORKER_ID"] ?? "1") % 8;
let nextPort = Math.floor(Math.random() * PORTS_EACH);

/** Returns a port that is currently free. Use this function only if a process must restart on the same port. */
export async function freePort(protocol: "tcp" | "udp4" = "tcp"): Promise<number> {
  for (;;) {
    const port = PORTS_FROM + worker * PORTS_EACH + (nextPort++ % PORTS_EACH);
    const isFree = await new Promise((resolve) => {
      const opened = protocol === "tcp" ? createServer() : createSocket(protocol);
      opened.once("error", () => resolve(false));
      opened.once("listening", () => opened.close(() => resolve(true)));
      if ("listen" in opened) opened.listen(port, "127.0.0.1");
      else opened.bind(port, "127.0.0.1");
    });
    if (isFree) return port;
  }
}

/**
 * Starts dist/<name>/main.js of a release. The process's environment contains only `PATH`, `HEALTH_LISTEN` and the
 * variables in `environment`. Rejects with the output on stderr when the process exits before it is ready.
 *
 * @param when the end of the log line that shows that the process has started
 */
export function startProcess(
  name: "core" | "edge" | "demo/game" | "demo/chat",
  environment: Environment,
  { when = "ready", release = THIS_RELEASE } = {},
): Promise<TestProcess> {
  const main = join(release, "dist", name, "main.js");
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env["PATH"], HEALTH_LISTEN: "127.0.0.1:0", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log: LogLine[] = [];
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));

  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const entry = JSON.parse(line) as LogLine;
      log.push(entry);
      if (entry["msg"] !== `${name} is ${when}`) return;
      resolve({
        port: Number(entry["port"]),
        healthPort: Number(entry["healthPort"]),
        pid: child.pid ?? 0,
        child,
        log,
        get errors() {
          return errors;
        },
        stop(signal = "SIGTERM") {
          child.kill(signal);
          return exited;
        },
      });
    });
    const fail = (code: number | null) =>
      new Error(`${name} exited with ${code} before it was ready:\n${errors}`);
    void exited.then((code) => reject(fail(code)));
  });
}
