import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { LogLine } from "../../../../test/harness/processes";
import { until } from "../../../../test/harness/wait";

export type IrcBridgeProcess = ReturnType<typeof startIrcBridgeProcess>;

const MAIN = join(__dirname, "../../chat-bridge-irc.mjs");

/** Starts the bridge as a process with these settings. */
export function startIrcBridgeProcess(settings: Readonly<Record<string, string>>) {
  const env = { PATH: process.env["PATH"], LOG_LEVEL: "debug", HEALTH_LISTEN: "127.0.0.1:0", ...settings };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ["ignore", "pipe", "pipe"] });
  const log: LogLine[] = [];
  let errors = "";
  createInterface({ input: child.stdout }).on("line", (line) => log.push(JSON.parse(line) as LogLine));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));

  const bridge = {
    log: log as readonly LogLine[],
    get errors() {
      return errors;
    },
    /** Resolves to the log line with this message. */
    logs: (message: string): Promise<LogLine> =>
      until(`the bridge logs “${message}”; it logged ${JSON.stringify(log.slice(-8))} ${errors}`, () =>
        log.find(({ msg }) => msg === message),
      ),
    async health(): Promise<{ status: number; body: unknown }> {
      const { healthPort } = await bridge.logs("chat-bridge-irc is running");
      const answer = await fetch(`http://127.0.0.1:${String(healthPort)}/health`);
      return { status: answer.status, body: await answer.json() };
    },
    ready: () => until("the bridge is connected", async () => (await bridge.health()).status === 200),
    /** Sends a signal, and resolves to the exit code, or null when the signal ended the process. */
    stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
      child.kill(signal);
      return exited;
    },
  };
  return bridge;
}
