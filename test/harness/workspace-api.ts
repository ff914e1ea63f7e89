import type { status } from "@grpc/grpc-js";
import {
  CreateWorkspaceRequest,
  ListWorkspacesRequest,
  UpdateWorkspaceRequest,
  type Workspace,
  type WorkspaceServiceClient,
} from "../../proto/gen/chatbridge/v1/workspace";
import { call } from "./core-clients";

export type CreateInit = Parameters<typeof CreateWorkspaceRequest.create>[0];
export type UpdateInit = Parameters<typeof UpdateWorkspaceRequest.create>[0];

/**
 * The methods of WorkspaceService, as functions that take the fields of a request and send an operator's token.
 */
export type WorkspaceApi = ReturnType<typeof createWorkspaceApi>;

export function createWorkspaceApi(of: WorkspaceServiceClient) {
  const create = (request: CreateInit = {}) =>
    call(of, of.createWorkspace, CreateWorkspaceRequest.create({ name: "test", ...request }));
  return {
    create,
    /** Creates a workspace. Returns the workspace with its secret. */
    async make(request: CreateInit = {}): Promise<Workspace & { readonly secret: string }> {
      const { workspace, signingSecret } = await create(request);
      if (workspace === undefined) throw new Error("the answer has no workspace");
      return { ...workspace, secret: signingSecret };
    },
    get: (workspaceId: string) => call(of, of.getWorkspace, { workspaceId }),
    list: (pageSize = 0, pageToken = "") =>
      call(of, of.listWorkspaces, ListWorkspacesRequest.create({ pageSize, pageToken })),
    update: (workspaceId: string, change: UpdateInit = {}) =>
      call(of, of.updateWorkspace, UpdateWorkspaceRequest.create({ workspaceId, ...change })),
    connect: (workspaceId: string) => call(of, of.connectWorkspace, { workspaceId }),
    disconnect: (workspaceId: string) => call(of, of.disconnectWorkspace, { workspaceId }),
    delete: (workspaceId: string) => call(of, of.deleteWorkspace, { workspaceId }),
    rotate: (workspaceId: string) => call(of, of.rotateSigningSecret, { workspaceId }),
    sendTestEvent: (workspaceId: string) => call(of, of.sendTestEvent, { workspaceId }),
    setTargetUrl: (workspaceId: string, targetUrl: string) =>
      call(of, of.setTargetUrl, { workspaceId, targetUrl }),
    delivery: (workspaceId: string, deliveryId: string) =>
      call(of, of.getDelivery, { workspaceId, deliveryId }),
    event: (workspaceId: string, eventId: string) => call(of, of.getEvent, { workspaceId, eventId }),
    failedEvents: async (workspaceId: string) =>
      (await call(of, of.listFailedEvents, { workspaceId })).events,
    sendAgain: async (workspaceId: string, ...eventIds: string[]) =>
      (await call(of, of.sendAgain, { workspaceId, eventIds })).results,
  };
}

/** Fails unless a call is rejected with the status `code`, and with details that match `words`. */
export async function expectRejected(calling: Promise<unknown>, code: status, words: string | RegExp) {
  const details = expect.stringMatching(words) as string;
  await expect(calling).rejects.toMatchObject({ code, details });
}
