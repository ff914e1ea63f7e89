import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { NODE_FLAGS } from "../deploy/local/children";
import { stopChild } from "../deploy/local/guarded-child";
import type { PartContext } from "./part";
import { profileFlags } from "./profile-flags";
import type { Scope } from "./scope";

/** The calls of a worker, by name. */
type Calls<Of> = { readonly [Name in keyof Of]: (input: never) => Promise<unknown> };

/** A separate process that generates load, receives pushes or serves as a reference. It handles one call at a time. */
export interface Worker<Of extends Calls<Of>> {
  readonly pid: number;
  call<Name extends keyof Of & string>(
    name: Name,
    input: Parameters<Of[Name]>[0],
  ): Promise<Awaited<ReturnType<Of[Name]>>>;
}

interface Answered {
  readonly output?: unknown;
  readonly fault?: string;
}

const STOP_WITHIN_MS = 2_000;
/** Folder of the built workers. If a test imports this file as TypeScript source, the path leads to dist/. */
const WORKERS = join(__dirname, __filename.endsWith(".ts") ? "../dist/bench/workers" : "workers");

/**
 * Node flags of a worker that measures latency. If the worker paused to collect garbage, the pause would count as
 * latency of the service. So the worker collects garbage before each run, and has a young generation of 256 MB, which
 * suffices for a whole run. Without the last flag, V8 also collects garbage when a process has little to do.
 */
export const LOAD_FLAGS = [
  "--expose-gc",
  "--max-semi-space-size=256",
  "--min-semi-space-size=256",
  "--no-memory-reducer",
];

/** Starts workers/<name>.ts in its own process. By default, the process has the same Node flags as the service. */
export async function startWorker<Of extends Calls<Of>>(
  scope: Scope,
  name: string,
  flags: readonly string[] = NODE_FLAGS,
): Promise<Worker<Of>> {
  const child = fork(join(WORKERS, `${name}.js`), {
    serialization: "advanced",
    execArgv: [...flags],
    // Ctrl-C must reach only the main process, which stops everything in order.
    detached: true,
  });
  const exited = new Promise<[Answered]>((resolve) => {
    child.once("exit", () => resolve([{ fault: "the worker exited unexpectedly" }]));
  });
  await scope.own(child, (each) => stopChild(each, STOP_WITHIN_MS));
  const { pid } = child;
  if (pid === undefined) throw new Error(`${name} has no process`);

  return {
    pid,
    async call(callName, input) {
      const answered = once(child, "message") as Promise<[Answered]>;
      child.send({ name: callName, input });
      const [{ output, fault }] = await Promise.race([answered, exited]);
      if (fault !== undefined) throw new Error(`${name}: ${fault}`);
      return output as never;
    },
  };
}

/** Starts a worker that serves as a reference, and writes its CPU profile if `--profile` is set. */
export function startReference<Of extends Calls<Of>>(
  { scope, options: { profile } }: PartContext,
  name: string,
): Promise<Worker<Of>> {
  return startWorker<Of>(scope, name, [...NODE_FLAGS, ...profileFlags(profile, name)]);
}

/** Runs inside the worker: answers calls until the parent process disconnects, then exits. */
export function serveWorker<Of extends Calls<Of>>(calls: Of): void {
  process.on("disconnect", () => process.exit(0));
  // Node writes a CPU profile when the process exits, but not when a signal kills it.
  process.on("SIGTERM", () => process.exit(0));
  process.on("message", ({ name, input }: { readonly name: keyof Of; readonly input: unknown }) => {
    calls[name](input as never).then(
      (output) => process.send?.({ output } satisfies Answered),
      (error: unknown) =>
        process.send?.({ fault: error instanceof Error ? (error.stack ?? error.message) : "unknown" }),
    );
  });
}
