import type { FastifyInstance } from "fastify";
import { coreAnswer, isServiceError, NO_WORKSPACE } from "./core-answer";
import type { WorkspaceView } from "../../proto/json/shapes";
import { WORKSPACE_IDS } from "./summaries-route";
import type { OperatorOf } from "./workspace-client";
import { toHealthShape, toWorkspaceShape } from "../../proto/json/workspace-json";

/**
 * Number of concurrent calls to core for one request. For each call, core reads the whole delivery log of a workspace.
 */
const AT_ONCE = 4;

/**
 * Adds `GET /health`, which returns workspaces with their health, by id. Deleted workspaces are left out. Only browser
 * tabs that still show an older release's pages call this route.
 */
export function addHealthRoute(app: FastifyInstance, operatorOf: OperatorOf): void {
  app.get<{ Querystring: { ids: string } }>("/health", { schema: WORKSPACE_IDS }, async (request) => {
    const { call, methods } = operatorOf(request);
    const ids = request.query.ids.split(",");
    const found: Record<string, WorkspaceView> = {};
    async function readOn(): Promise<void> {
      for (let workspaceId = ids.pop(); workspaceId !== undefined; workspaceId = ids.pop()) {
        try {
          const { workspace, health } = await call(methods.getWorkspace, { workspaceId });
          found[workspaceId] = { workspace: toWorkspaceShape(workspace), health: toHealthShape(health) };
        } catch (error) {
          if (!isServiceError(error) || coreAnswer(error) !== NO_WORKSPACE) throw error;
        }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, readOn));
    return found;
  });
}
