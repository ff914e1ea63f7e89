import { createWorkspaces, type Workspace } from "../core-clients";
import type { Pids } from "../cpu";
import { assertWrk } from "../load/wrk";
import type { PartContext } from "../part";
import { startService, type Service } from "../service";
import type { ReferenceServer } from "../workers/reference-server";
import { startWorker, type Worker } from "../worker";

/** Workspaces that receive HTTP load in turn. Their limits of 250 a second (check 6) allow 64,000 a second together. */
export const WORKSPACES = 256;

/** The service and the reference server, with the same workspaces. */
export interface HttpSides {
  readonly service: Service;
  readonly workspaces: readonly Workspace[];
  readonly reference: Worker<ReferenceServer>;
  readonly referenceUrl: string;
  readonly referencePids: Pids;
}

export async function startHttpSides(context: PartContext): Promise<HttpSides> {
  await assertWrk();
  const service = await startService(context);
  const workspaces = await createWorkspaces(service.clients, WORKSPACES);
  const reference = await startWorker<ReferenceServer>(context.scope, "reference-server");
  const port = await reference.call("start", { workspaces });
  const referencePids = { reference: reference.pid };
  return { service, workspaces, reference, referenceUrl: `http://127.0.0.1:${port}`, referencePids };
}
