import type { FastifyInstance, FastifyRequest } from "fastify";
import { WORKSPACE_STATES, type WorkspaceState } from "../../contract/workspace-states";
import { CreateWorkspaceRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { sendError } from "../public/public-listener";
import { findWorkspaces, listWorkspaces } from "./find-workspaces";
import type {
  OperatorTestShape,
  WorkspacePage,
  WorkspaceView,
  WorkspaceWithSecret,
} from "../../proto/json/shapes";
import { OPERATOR_TEST_MS, type OperatorOf } from "./workspace-client";
import { toHealthShape, toWorkspaceShape, withSecret } from "../../proto/json/workspace-json";

const TEXT = { type: "string", maxLength: 4_096 } as const;
const LIST = {
  querystring: {
    type: "object",
    additionalProperties: false,
    properties: {
      after: TEXT,
      search: TEXT,
      state: { enum: WORKSPACE_STATES },
      size: { type: "string", pattern: "^(?:[1-9]|[1-9]\\d|100)$" },
    },
  },
} as const;
type Of<Body = unknown> = { Params: { id: string }; Body: Body };

/** Returns the schema of a body in which all fields are strings. */
function texts<Name extends string>(required: readonly Name[], optional: readonly string[] = []) {
  const properties = Object.fromEntries([...required, ...optional].map((name) => [name, TEXT]));
  return { schema: { body: { type: "object", additionalProperties: false, required, properties } } };
}

/** Adds the routes that list, create, show, rename and delete workspaces. */
export function addWorkspaceRoutes(app: FastifyInstance, operatorOf: OperatorOf): void {
  async function view(request: FastifyRequest, workspaceId: string): Promise<WorkspaceView> {
    const { call, methods } = operatorOf(request);
    const found = await call(methods.getWorkspace, { workspaceId });
    return { workspace: toWorkspaceShape(found.workspace), health: toHealthShape(found.health) };
  }

  app.get<{ Querystring: { after?: string; search?: string; state?: WorkspaceState; size?: string } }>(
    "/workspaces",
    { schema: LIST },
    (request): Promise<WorkspacePage> => {
      const { after = "", search = "", state, size = "25" } = request.query;
      const operator = operatorOf(request);
      return search.trim() === ""
        ? listWorkspaces(operator, { state, after }, Number(size))
        : findWorkspaces(operator, search.trim(), { state, after });
    },
  );

  app.post<{ Body: { name: string; ownerEmail?: string; targetUrl?: string } }>(
    "/workspaces",
    texts(["name"], ["ownerEmail", "targetUrl"]),
    async (request, reply): Promise<WorkspaceWithSecret> => {
      const { call, methods } = operatorOf(request);
      void reply.code(201);
      return withSecret(await call(methods.createWorkspace, CreateWorkspaceRequest.create(request.body)));
    },
  );

  app.get<Of>("/workspaces/:id", (request) => view(request, request.params.id));

  app.patch<Of<{ name?: string; ownerEmail?: string }>>(
    "/workspaces/:id",
    texts([], ["name", "ownerEmail"]),
    async (request) => {
      const { call, methods } = operatorOf(request);
      const { name, ownerEmail } = request.body;
      const change = { ...named(request), name, ownerEmail };
      return toWorkspaceShape((await call(methods.updateWorkspace, change)).workspace);
    },
  );

  // The body must contain the workspace's name, so that an operator cannot delete the wrong workspace by mistake.
  app.delete<Of<{ name: string }>>("/workspaces/:id", texts(["name"]), async (request, reply) => {
    const { call, methods } = operatorOf(request);
    const { workspace } = await view(request, request.params.id);
    if (workspace.name !== request.body.name) {
      return sendError(reply, {
        status: 409,
        field: "name",
        message: "This is not the workspace's name: nothing was deleted.",
      });
    }
    await call(methods.deleteWorkspace, { workspaceId: workspace.id });
    return reply.code(204).send();
  });
}

/** Adds the routes that change how a workspace is connected: its addresses, its connection and its secret. */
export function addConnectionRoutes(app: FastifyInstance, operatorOf: OperatorOf): void {
  app.put<Of<{ targetUrl: string }>>("/workspaces/:id/target-url", texts(["targetUrl"]), async (request) => {
    const { call, methods } = operatorOf(request);
    const wanted = { ...named(request), targetUrl: request.body.targetUrl };
    return toWorkspaceShape((await call(methods.setTargetUrl, wanted)).workspace);
  });

  app.put<Of<{ address: string }>>(
    "/workspaces/:id/operator-events",
    texts(["address"]),
    async (request): Promise<WorkspaceWithSecret> => {
      const { call, methods } = operatorOf(request);
      const wanted = { ...named(request), address: request.body.address };
      return withSecret(await call(methods.setOperatorEventsAddress, wanted));
    },
  );

  app.post<Of>("/workspaces/:id/test-operator-event", async (request): Promise<OperatorTestShape> => {
    const { call, methods } = operatorOf(request);
    const { results } = await call(methods.sendTestOperatorEvent, named(request), OPERATOR_TEST_MS);
    return { results: results.map(({ receiver, accepted, detail }) => ({ receiver, accepted, detail })) };
  });

  app.post<Of>("/workspaces/:id/connect", async (request): Promise<WorkspaceWithSecret> => {
    const { call, methods } = operatorOf(request);
    return withSecret(await call(methods.connectWorkspace, named(request)));
  });

  app.post<Of>("/workspaces/:id/disconnect", async (request) => {
    const { call, methods } = operatorOf(request);
    return toWorkspaceShape((await call(methods.disconnectWorkspace, named(request))).workspace);
  });

  app.post<Of>("/workspaces/:id/rotate-secret", async (request): Promise<WorkspaceWithSecret> => {
    const { call, methods } = operatorOf(request);
    return withSecret(await call(methods.rotateSigningSecret, named(request)));
  });
}

function named({ params }: { readonly params: Of["Params"] }): { workspaceId: string } {
  return { workspaceId: params.id };
}
