import { status } from "@grpc/grpc-js";
import type { FastifyInstance } from "fastify";
import { HEALTH_IDS_MAX, type StateCounts, type SummariesShape } from "../../proto/json/shapes";
import { toSummaryShape, toWorkspaceShape } from "../../proto/json/workspace-json";
import { isServiceError } from "./core-answer";
import { readCounts } from "./find-workspaces";
import type { Operator, OperatorOf } from "./workspace-client";

/** Schema of a query with the ids of workspaces. */
export const WORKSPACE_IDS = {
  querystring: {
    type: "object",
    additionalProperties: false,
    required: ["ids"],
    properties: {
      ids: { type: "string", pattern: `^[0-9a-f-]{36}(?:,[0-9a-f-]{36}){0,${HEALTH_IDS_MAX - 1}}$` },
    },
  },
} as const;

/**
 * Adds `GET /summaries` and `GET /counts`. `/summaries` returns the workspaces that a list shows. `/counts` returns the
 * number of workspaces in each state, or null if core runs an older release.
 */
export function addSummariesRoutes(app: FastifyInstance, operatorOf: OperatorOf): void {
  app.get<{ Querystring: { ids: string } }>(
    "/summaries",
    { schema: WORKSPACE_IDS },
    async (request): Promise<SummariesShape> => {
      const operator = operatorOf(request);
      const [workspaces, counts] = await Promise.all([
        readSummaries(operator, request.query.ids.split(",")),
        readCounts(operator),
      ]);
      return { workspaces, counts };
    },
  );
  app.get("/counts", async (request): Promise<{ readonly counts: StateCounts | null }> => ({
    counts: await readCounts(operatorOf(request)),
  }));
}

async function readSummaries(
  { call, methods }: Operator,
  workspaceIds: readonly string[],
): Promise<SummariesShape["workspaces"]> {
  try {
    const found = await call(methods.summarizeWorkspaces, { workspaceIds: [...workspaceIds] });
    const summaries = new Map(found.summaries.map((each) => [each.workspaceId, toSummaryShape(each)]));
    return Object.fromEntries(
      found.workspaces.map((workspace) => [
        workspace.id,
        { workspace: toWorkspaceShape(workspace), summary: summaries.get(workspace.id) ?? null },
      ]),
    );
  } catch (error) {
    // A core of an older release returns no summaries, so the list keeps showing its current data.
    if (!isServiceError(error) || error.code !== status.UNIMPLEMENTED) throw error;
    return {};
  }
}
