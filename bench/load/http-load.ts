import { randomBytes } from "node:crypto";
import type { Workspace } from "../core-clients";
import type { Scope } from "../scope";
import type { Side } from "../slices";
import { startWorker } from "../worker";
import type { HttpLoad as HttpLoadWorker, Poll } from "../workers/http-load";

/** A load of requests that can be sent to several servers. */
export type Load = (origin: string) => Required<Pick<Side, "prepare" | "run">>;

export type HttpLoad = Awaited<ReturnType<typeof startHttpLoad>>;

/** Starts the process that generates load over HTTP. This process sends requests to all sides. */
export async function startHttpLoad(scope: Scope) {
  const worker = await startWorker<HttpLoadWorker>(scope, "http-load");
  // Two loads never send the same request id.
  const newName = () => randomBytes(4).toString("hex");
  const loadOf =
    (name: string): Load =>
    (origin) => ({
      prepare: (seconds) => worker.call("prepare", { name, origin, seconds }),
      run: () => worker.call("run", undefined),
    });
  return {
    /** Creates a load of POSTs to the workspaces in turn. No two POSTs are identical. */
    async posts(workspaces: readonly Workspace[]): Promise<Load> {
      const name = newName();
      await worker.call("definePosts", { name, workspaces });
      return loadOf(name);
    },
    /** Creates a load of polls whose answers must have `bodyBytes` bytes. A workspace never has two polls in flight. */
    async polls(polls: readonly Poll[], bodyBytes: number): Promise<Load> {
      const name = newName();
      await worker.call("definePolls", { name, polls, bodyBytes });
      return loadOf(name);
    },
  };
}
