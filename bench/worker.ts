import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { hasEnded, stopChild } from "../local/guarded-child";
import { NODE_FLAGS } from "../local/children";
import type { Scope } from "./scope";

/** The calls of a worker, by name. */
export type Calls<Of> = { readonly [Name in keyof Of]: (input: never) => Promise<unknown> };

/** A separate process that makes load, receives it or is a reference. */
export interface Worker<Of extends Calls<Of>> {
  readonly pid: number;
  call<Name extends keyof Of & string>(
    name: Name,
    input: Parameters<Of[Name]>[0],
  ): Promise<Awaited<ReturnType<Of[Name]>>>;
}

interface Asked {
  readonly number: number;
  readonly name: string;
  readonly input: unknown;
}

interface Answered {
  readonly number: number;
  readonly output?: unknown;
  readonly fault?: string;
}

const STOP_WITHIN_MS = 2_000;

/** Node flags of a load that measures latency: it collects garbage before each round, because its pauses would count. */
export const LOAD_FLAGS = ["--expose-gc"];

/** Starts workers/<name>.ts in its own process, by default with the service's Node flags, because it may be a reference. */
export async function startWorker<Of extends Calls<Of>>(
  scope: Scope,
  name: string,
  flags: readonly string[] = NODE_FLAGS,
): Promise<Worker<Of>> {
  const child = fork(join(__dirname, "workers", `${name}.js`), {
    serialization: "advanced",
    execArgv: [...flags],
    // Ctrl-C must reach only the main process, which stops everything in order.
    detached: true,
  });
  const waiting = new Map<number, (answer: Answered) => void>();
  let last = 0;
  child.on("message", (answer: Answered) => waiting.get(answer.number)?.(answer));
  child.on("exit", () => {
    for (const [number, settle] of waiting) settle({ number, fault: "the worker exited unexpectedly" });
  });
  await scope.own(Promise.resolve(child), (each) => stopChild(each, STOP_WITHIN_MS));
  if (!hasEnded(child) && child.pid === undefined) await once(child, "spawn");
  const { pid } = child;
  if (pid === undefined) throw new Error(`${name} has no process`);

  return {
    pid,
    call: (callName, input) =>
      new Promise((resolve, reject) => {
        const number = ++last;
        waiting.set(number, ({ output, fault }) => {
          waiting.delete(number);
          if (fault === undefined) resolve(output as never);
          else reject(new Error(`${name}: ${fault}`));
        });
        const asked: Asked = { number, name: callName, input };
        child.send(asked);
      }),
  };
}

/** The worker's side: answers calls until the parent process disconnects, then exits. */
export function serveWorker<Of extends Calls<Of>>(calls: Of): void {
  process.on("disconnect", () => process.exit(0));
  process.on("message", ({ number, name, input }: Asked) => {
    const answer = (rest: Omit<Answered, "number">): void => {
      process.send?.({ number, ...rest });
    };
    calls[name as keyof Of](input as never).then(
      (output) => answer({ output }),
      (error: unknown) =>
        answer({ fault: error instanceof Error ? (error.stack ?? error.message) : "unknown" }),
    );
  });
}
