import { spawn } from "node:child_process";
import { once } from "node:events";

export type Program = ReturnType<typeof startProgram>;

const running = new Set<Program>();
afterAll(() => Promise.all([...running].map((program) => program.stop("SIGKILL"))));

/** Starts a program in any language, as a terminal does. It does not outlive the tests of the file. */
export function startProgram(
  [command, ...args]: readonly [string, ...string[]],
  { cwd, environment }: { readonly cwd: string; readonly environment: Record<string, string> },
) {
  const { PATH, HOME } = process.env;
  const child = spawn(command, args, { cwd, env: { PATH, HOME, ...environment } });
  const ended = once(child, "close") as Promise<[number | null]>;
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  }
  const program = {
    /** What it printed so far, errors too. */
    output: () => output,
    type: (line: string) => void child.stdin.write(`${line}\n`),
    /** Ends it; answers its exit code, null when a signal ended it. */
    async stop(signal: NodeJS.Signals = "SIGTERM") {
      child.kill(signal);
      const [code] = await ended;
      return code;
    },
  };
  running.add(program);
  return program;
}
