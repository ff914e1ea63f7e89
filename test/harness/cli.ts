import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { createProgram, runCli as runInProcess } from "../../cli/program";
import { createTerminal } from "../../cli/terminal";
import { TOKENS } from "./processes";

export interface CliOptions {
  /** The role of the token that the command uses, or "nobody" for no token. */
  readonly role?: keyof typeof TOKENS | "nobody";
  readonly corePort?: number;
  readonly stdin?: string | Buffer;
  readonly isTTY?: boolean;
  /** Additional environment variables, which override the variables that `role` and `corePort` set. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The commands and options of the command line. */
export const PROGRAM = createProgram(
  { terminal: createTerminal(process), environment: {}, interruption: () => new AbortController().signal },
  () => undefined,
);

/** A run of the command line. The run may still be in progress. `interrupt` acts like Ctrl-C. */
export type CliChild = ReturnType<typeof startCli>;

const CLI_MAIN = join(__dirname, "../../dist/cli/main.js");

const wordsOf = (args: string | readonly string[]) =>
  typeof args === "string" ? args.split(" ").filter(Boolean) : args;

function environmentOf({ role = "operator", corePort, environment = {} }: CliOptions) {
  return {
    ...(role === "nobody" ? {} : { CORE_TOKEN: TOKENS[role] }),
    ...(corePort === undefined ? {} : { CORE_ADDRESS: `127.0.0.1:${corePort}` }),
    ...environment,
  };
}

function gather(stdout: Readable, stderr: Readable, code: Promise<number | null>) {
  const said = { stdout: "", stderr: "" };
  stdout.setEncoding("utf8").on("data", (text: string) => (said.stdout += text));
  stderr.setEncoding("utf8").on("data", (text: string) => (said.stderr += text));
  const ended = code.then((exit) => ({
    code: exit,
    ...said,
    get json() {
      return JSON.parse(said.stdout.trimEnd().split("\n").at(-1) ?? "") as unknown;
    },
  }));
  return { lines: () => said.stdout.split("\n").slice(0, -1), stderr: () => said.stderr, ended };
}

/** Runs the command line in this process. If `args` is a string, it is split at spaces. */
export function startCli(args: string | readonly string[], options: CliOptions = {}) {
  const { stdin = "", isTTY = false } = options;
  const interrupt = new AbortController();
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const input = Object.assign(Readable.from([Buffer.from(stdin)]), { isTTY });
  const code = runInProcess(wordsOf(args), {
    terminal: createTerminal({ stdin: input, stdout, stderr }, environmentOf(options)),
    environment: environmentOf(options),
    interruption: () => interrupt.signal,
  }).then(async (exit) => {
    await Promise.all([stdout, stderr].map((stream) => once(stream.end(), "end")));
    return exit;
  });
  return { ...gather(stdout, stderr, code), interrupt: () => interrupt.abort() };
}

export const runCli = (...run: Parameters<typeof startCli>) => startCli(...run).ended;

/** Runs dist/cli/main.js in a separate process. `through` is a command that starts the process, e.g. `sh -c …`. */
export function startCliProcess(
  args: string | readonly string[],
  options: CliOptions & { readonly through?: readonly string[] } = {},
) {
  const words = [process.execPath, CLI_MAIN, ...wordsOf(args)];
  const [program = "", ...all] = [...(options.through ?? []), ...words];
  const child = spawn(program, all, { env: { PATH: process.env["PATH"], ...environmentOf(options) } });
  // The command may exit before it has read all of its input, which causes an error of the pipe.
  child.stdin.on("error", () => undefined).end(options.stdin ?? "");
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  const interrupt = () => void child.kill("SIGINT");
  return { ...gather(child.stdout, child.stderr, code), child, interrupt };
}
