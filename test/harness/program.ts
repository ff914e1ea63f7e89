import { spawn } from "node:child_process";
import { once } from "node:events";

export type Program = ReturnType<typeof startProgram>;

const running = new Set<Program>();
afterAll(() => Promise.all([...running].map((program) => program.stop("SIGKILL"))));

/**
 * Starts a program in any language, with pipes for its input and output. The program is killed after the tests of the
 * file.
 */
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
    /** Everything that the program has printed so far, on stdout and stderr. */
    output: () => output,
    /** Resolves to the exit code, or to null when a signal ended the program. */
    exited: ended.then(([code]) => code),
    type: (line: string) => void child.stdin.write(`${line}\n`),
    /** Closes the program's input. */
    end: () => void child.stdin.end(),
    /** Sends a signal that the program is expected to survive. */
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    /** Stops the program. Returns the exit code, or null when a signal ended the program. */
    async stop(signal: NodeJS.Signals = "SIGTERM") {
      child.kill(signal);
      const [code] = await ended;
      return code;
    },
  };
  running.add(program);
  return program;
}
