import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

export type LogLine = Readonly<Record<string, unknown>>;
export type BridgeProcess = Awaited<ReturnType<typeof startBridge>>;

const PROGRAM = join(__dirname, "../../chat-bridge-matrix.mjs");
const running = new Set<{ stop(signal: NodeJS.Signals): Promise<unknown> }>();
afterAll(() => Promise.all([...running].map((each) => each.stop("SIGKILL"))));

/**
 * Starts the bridge as a process. Resolves when the bridge runs, which may be before it is connected. The process is
 * killed after the tests of the file.
 */
export async function startBridge(environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [PROGRAM], {
    env: { PATH: process.env["PATH"], HEALTH_LISTEN: "127.0.0.1:0", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log: LogLine[] = [];
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  const ready = new Promise<LogLine | undefined>((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const entry = JSON.parse(line) as LogLine;
      log.push(entry);
      if (entry["msg"] === "chat-bridge-matrix is running") resolve(entry);
    });
    void exited.then(() => resolve(undefined));
  });
  const bridge = {
    log: log as readonly LogLine[],
    exited,
    errors: () => errors,
    /** Everything that the bridge printed. */
    output: () => log.map((line) => `${JSON.stringify(line)}\n`).join("") + errors,
    logged: (msg: string) => log.filter((line) => line["msg"] === msg),
    /** Resolves to the answer of the health listener: its status, and the connections. */
    async health() {
      const answer = await fetch(`http://127.0.0.1:${Number((await ready)?.["healthPort"])}/health`);
      return { status: answer.status, body: (await answer.json()) as object };
    },
    /** Sends a signal and waits for the exit. Resolves to the exit code, or null when the signal ended the process. */
    async stop(signal: NodeJS.Signals = "SIGTERM") {
      child.kill(signal);
      return exited;
    },
  };
  running.add(bridge);
  await ready;
  return bridge;
}
