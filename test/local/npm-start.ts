import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { NODE_FLAGS } from "../../deploy/local/children";
import { LISTENERS } from "../../deploy/local/start-settings";
import { freePort } from "../harness/processes";
import { until } from "../harness/wait";

export const PROJECT = join(__dirname, "../..");
const MAIN = join(PROJECT, "dist/deploy/local/main.js");

/** One run of the program that `npm start` runs, with a separate data folder. */
export type Run = Awaited<ReturnType<typeof start>>;

/** Settings that let the system choose all ports. */
export const ANY_PORTS = Object.fromEntries(Object.keys(LISTENERS).map((name) => [name, "127.0.0.1:0"]));
/** Settings that turn off the game and the chat, for a faster start. */
export const NO_DEMO = { DEMO: "off" };

/**
 * Returns addresses with ports that only this test worker uses. If the ports were random, two starts could get the
 * same port.
 */
async function ownPorts(): Promise<Record<string, string>> {
  const ports: Record<string, string> = {};
  for (const name of Object.keys(LISTENERS)) ports[name] = `127.0.0.1:${await freePort()}`;
  return ports;
}

const folders: string[] = [];

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cb-start-"));
  folders.push(folder);
  return folder;
}

/** Creates a folder with only node and `scripts`, for use as the PATH. */
export function pathWith(scripts: Readonly<Record<string, string>> = {}): string {
  const folder = newFolder();
  symlinkSync(process.execPath, join(folder, "node"));
  for (const [name, body] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  }
  return folder;
}

/**
 * Creates a package with the project's start script, and with the build script `build`, because a build of the project
 * would change files that other tests use.
 */
export function packageWithStart(build = "true"): string {
  const { scripts } = JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8")) as {
    scripts: { start: string };
  };
  const start = scripts.start.replace("scripts/start.mjs", join(PROJECT, "scripts/start.mjs"));
  const folder = newFolder();
  const content = { name: "start", version: "1.0.0", scripts: { start, build } };
  writeFileSync(join(folder, "package.json"), JSON.stringify(content));
  return folder;
}

/**
 * Starts a run in a new process group, as a terminal does. `folder` is the data folder. If `npmIn` is set, runs
 * `npm start` in the folder `npmIn`.
 */
export async function start({
  folder = newFolder(),
  env = {},
  args = [] as readonly string[],
  npmIn = "",
} = {}) {
  const ports = await ownPorts();
  const command = npmIn === "" ? [process.execPath, MAIN] : ["npm", "start", "--silent", "--"];
  const [program = "", ...words] = [...command, ...args];
  const ofRun = { PATH: process.env["PATH"], HOME: process.env["HOME"], DATA_DIR: folder, ...ports, ...env };
  const child = spawn(program, words, {
    cwd: npmIn === "" ? PROJECT : npmIn,
    env: ofRun,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let printed = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  let ended = false;
  const exited = (once(child, "exit") as Promise<[number | null]>).then(([code]) => {
    ended = true;
    return code;
  });
  return {
    folder,
    child,
    printed: () => printed,
    printedErrors: () => errors,
    /** The exit code, or null if a signal killed the process. */
    exited,
    /**
     * Resolves to the instructions that `npm start -- --commands` prints when the run is ready. Rejects if the run exits
     * first.
     */
    async ready(): Promise<string> {
      await until("the run is ready", () => {
        if (ended) throw new Error(`npm start exited before it was ready:\n${printed}\n${errors}`);
        return /\nThe service is running\.[^]*\n {2}\S*Dashboard [^]*\n$/.test(printed);
      });
      const { stdout } = await promisify(execFile)(process.execPath, [MAIN, "--commands"], { env: ofRun });
      return stdout;
    },
  };
}

const STEPS = ["report", "publish", "poll", "follow", "create"] as const;
type Step = (typeof STEPS)[number];

/** Returns the lines of a step in the instructions that `--commands` prints, which users can paste into a shell. */
export function snippet(page: string, step: Step): string {
  const lines = page.split("\n");
  const from = lines.findIndex((line) => line.startsWith(`${STEPS.indexOf(step) + 1}. `)) + 2;
  return lines.slice(from, lines.indexOf("", from)).join("\n");
}

/** Runs the lines of a step in a shell, and returns the output. Each file name in `files` is replaced by its path. */
export async function paste(
  page: string,
  step: Step,
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  let lines = snippet(page, step);
  for (const [name, path] of Object.entries(files)) lines = lines.replaceAll(name, path);
  return (await promisify(execFile)("bash", ["-c", lines], { cwd: PROJECT })).stdout;
}

/** Returns the value after a word of the printed instructions, such as the id after "workspace". */
export function fact(page: string, name: string): string {
  return new RegExp(`^ +${name} +(\\S+)`, "m").exec(page)?.[1] ?? "";
}

/**
 * Returns all running processes whose command, environment or working folder contains `folder`. The result includes
 * orphans, and the guard processes that deploy/local/guarded-child.ts starts.
 */
export function living(folder: string) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
        const environment = readFileSync(`/proc/${name}/environ`, "utf8");
        // The working folder of a zombie process cannot be read, so zombies are skipped.
        const place = readlinkSync(`/proc/${name}/cwd`);
        const ours = [command, environment, place].some((text) => text.includes(folder));
        return ours ? [{ pid: Number(name), command }] : [];
      } catch {
        return [];
      }
    });
}

export function pidOf(folder: string, command: RegExp): number {
  const [found, ...more] = living(folder).filter((each) => command.test(each.command));
  if (found === undefined || more.length > 0)
    throw new Error(
      `expected exactly one process that matches ${command}, but found: ${JSON.stringify(living(folder))}`,
    );
  return found.pid;
}

/**
 * Returns a pattern that matches the command of a process. The pattern does not match the command of the process's
 * guard, which is a shell.
 */
const commandOf = (folder: string): RegExp =>
  new RegExp(`^\\S*node ${NODE_FLAGS.join(" ")} \\S+dist/${folder}/main\\.js`);
export const PARTS = {
  core: commandOf("core"),
  edge: commandOf("edge"),
  redis: /^\S*redis-server /,
  game: commandOf("demo/game"),
  chat: commandOf("demo/chat"),
};
export const GUARD = /^\/bin\/sh -c .* guard /s;

export async function nothingIsLeft(folder: string): Promise<void> {
  await until("every process of the run has exited", () => living(folder).length === 0);
}

/** Stops a run with a signal. Fails unless the parts stop in order, the run exits with 0, and no process is left. */
export async function stop({ child, exited, folder, printed }: Run, kill = () => child.kill("SIGTERM")) {
  kill();
  expect(await exited).toBe(0);
  const stops =
    /\n(· chat: stopping\n· game: stopping\n)?· edge: stopping\n· core: stopping\n(· redis: stopping\n)?$/;
  expect(printed()).toMatch(stops);
  await nothingIsLeft(folder);
}

/** Kills a process. Does nothing if the process has already exited. */
export function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Kills all processes that a failed test has left running, and removes the folders. */
afterAll(() => {
  for (const folder of folders.splice(0)) {
    for (const { pid } of living(folder)) killIfThere(pid);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});
