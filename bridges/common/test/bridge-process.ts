import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { LogLine } from "../../../test/harness/processes";
import { until } from "../../../test/harness/wait";

export type BridgeProcess = ReturnType<typeof startBridgeProcess>;

const running = new Set<BridgeProcess>();
afterAll(() => Promise.all([...running].map((each) => each.stop("SIGKILL"))));

/**
 * Starts a bridge as a process, and does not wait until the bridge is ready. The process is killed after the tests of
 * the file.
 *
 * @param settings environment variables of the process; by default, the health listener uses a free port
 */
export function startBridgeProcess(
  name: "irc" | "matrix" | "xmpp",
  settings: Readonly<Record<string, string>>,
) {
  const program = `chat-bridge-${name}`;
  const child = spawn(process.execPath, [join(__dirname, `../../${name}/${program}.mjs`)], {
    env: { PATH: process.env["PATH"], LOG_LEVEL: "debug", HEALTH_LISTEN: "127.0.0.1:0", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log: LogLine[] = [];
  let errors = "";
  createInterface({ input: child.stdout }).on("line", (line) => log.push(JSON.parse(line) as LogLine));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  let hasExited = false;
  const exited = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  child.once("close", () => (hasExited = true));

  const bridge = {
    log: log as readonly LogLine[],
    pid: child.pid,
    /** Resolves to the exit code, or to null when a signal ended the process. */
    exited,
    get errors() {
      return errors;
    },
    /** Returns everything that the bridge has printed. */
    output: () => log.map((line) => `${JSON.stringify(line)}\n`).join("") + errors,
    logged: (message: string) => log.filter(({ msg }) => msg === message),
    /** Resolves to the log line with this message. Rejects if the process exits before this line is logged. */
    logs: (message: string): Promise<LogLine> =>
      until(`the bridge logs “${message}”; it logged ${JSON.stringify(log.slice(-8))} ${errors}`, () => {
        const line = log.find(({ msg }) => msg === message);
        if (line === undefined && hasExited)
          throw new Error(`the bridge exited before it logged “${message}”: ${errors}`);
        return line;
      }),
    /** Resolves to the answer of the health listener: the status, and the connections. */
    async health(): Promise<{ status: number; body: unknown }> {
      const { healthPort } = await bridge.logs(`${program} is running`);
      const answer = await fetch(`http://127.0.0.1:${String(healthPort)}/health`);
      return { status: answer.status, body: await answer.json() };
    },
    /** Resolves when the bridge is connected to the service and to the chat. */
    ready: () => until("the bridge is connected", async () => (await bridge.health()).status === 200),
    /** Sends a signal, and resolves to the exit code, or to null when the signal ended the process. */
    stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
      child.kill(signal);
      return exited;
    },
  };
  running.add(bridge);
  return bridge;
}
