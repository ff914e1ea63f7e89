import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { until } from "../../../test/harness/wait";

/** A real chat server that the tests of a file can stop and restart on the same port. */
export interface ChatServer {
  readonly port: number;
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Maximum number of characters of the server's output that are kept for an error. */
const OUTPUT_MAX = 20_000;

/** Returns a server that is not started yet. The program listens on `port` of 127.0.0.1. */
export function chatServer(name: string, port: number, program: Program): ChatServer {
  const { command, args, environment = {} } = program;
  let child: ChildProcess | undefined;
  return {
    port,
    async start() {
      let output = "";
      const started = spawn(command, args, {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, ...environment },
      });
      child = started;
      for (const stream of [started.stdout, started.stderr]) {
        stream.on("data", (chunk: Buffer) => (output = (output + chunk.toString()).slice(-OUTPUT_MAX)));
      }
      await until(`the ${name} server accepts connections`, () => {
        if (started.exitCode !== null) throw new Error(`the ${name} server has exited:\n${output}`);
        return accepts(port);
      });
    },
    async stop(signal = "SIGTERM") {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill(signal);
      await exited;
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}
