import { spawn } from "node:child_process";
import { once } from "node:events";

/** A program in any language, as a terminal sees it. */
export interface Program {
  /** What it printed so far, errors too. */
  output(): string;
  /** Types a line. */
  type(line: string): void;
  /** Ends it; answers its exit code, null when a signal ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export function startProgram(
  [command, ...args]: readonly [string, ...string[]],
  { cwd, environment }: { readonly cwd: string; readonly environment: Record<string, string> },
): Program {
  const { PATH, HOME } = process.env;
  const child = spawn(command, args, { cwd, env: { PATH, HOME, ...environment } });
  const ended = once(child, "close") as Promise<[number | null]>;
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  }
  return {
    output: () => output,
    type: (line) => void child.stdin.write(`${line}\n`),
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      const [code] = await ended;
      return code;
    },
  };
}
