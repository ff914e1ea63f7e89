import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { TOKENS } from "./processes";

/** What a run of the command line said, and what it ended with. */
export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The last line of stdout as JSON. */
  readonly json: unknown;
}

export interface CliOptions {
  /** Whose token it is given; none is "nobody". */
  readonly role?: keyof typeof TOKENS | "nobody";
  readonly corePort?: number;
  readonly stdin?: string | Buffer;
  /** Over what the role and the port make. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A command that runs the command line, which is put at its end. */
  readonly through?: readonly string[];
}

/** A run that is under way. */
export interface CliChild {
  readonly child: ChildProcess;
  /** What it has said so far. */
  stdout(): string;
  stderr(): string;
  readonly ended: Promise<CliRun>;
}

export const CLI_MAIN = join(__dirname, "../../dist/cli/main.js");

/** Runs dist/cli/main.js with just the environment that the options say. */
export function startCli(args: readonly string[], options: CliOptions = {}): CliChild {
  const { role = "operator", corePort, stdin = "", environment = {}, through = [] } = options;
  const [program = "", ...all] = [...through, process.execPath, CLI_MAIN, ...args];
  const child = spawn(program, all, {
    env: {
      PATH: process.env["PATH"],
      ...(role === "nobody" ? {} : { CORE_TOKEN: TOKENS[role] }),
      ...(corePort === undefined ? {} : { CORE_ADDRESS: `127.0.0.1:${corePort}` }),
      ...environment,
    },
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  // It may end before it has read it.
  child.stdin.on("error", () => undefined).end(stdin);
  const ended = new Promise<CliRun>((resolve) => {
    child.once("close", (code) =>
      resolve({
        code,
        stdout,
        stderr,
        get json() {
          return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as unknown;
        },
      }),
    );
  });
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}

export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  return startCli(args, options).ended;
}
