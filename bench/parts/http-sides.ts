import { createWorkspaces } from "../core-clients";
import { assertWrk } from "../load/wrk";
import type { PartContext } from "../part";
import { startService } from "../service";
import { startWorker } from "../worker";
import type { ReferenceServer } from "../workers/reference-server";

/** Number of workspaces that receive HTTP load in turn. Each accepts 250 requests per second: 64,000 in total. */
export const WORKSPACES = 256;

/** Starts the service and the reference server, with the same workspaces. */
export async function startHttpSides(context: PartContext) {
  assertWrk();
  const service = await startService(context);
  const workspaces = await createWorkspaces(service.clients, WORKSPACES);
  const reference = await startWorker<ReferenceServer>(context.scope, "reference-server");
  const port = await reference.call("start", { workspaces });
  const referencePids = { reference: reference.pid };
  return { service, workspaces, reference, referenceUrl: `http://127.0.0.1:${port}`, referencePids };
}
