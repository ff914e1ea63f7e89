import { credentials, Metadata, status, type ServiceError } from "@grpc/grpc-js";
import {
  CreateWorkspaceRequest,
  WorkspaceServiceClient,
  type ConnectWorkspaceResponse,
  type CreateWorkspaceResponse,
  type GetWorkspaceResponse,
  type SetTargetUrlResponse,
  type Workspace,
} from "../proto/gen/chatbridge/v1/workspace";

/** An operator's calls of core. All of them reject with a ServiceError. */
export interface Operator {
  /** Resolves to undefined when core does not have the workspace. */
  find(workspaceId: string): Promise<Workspace | undefined>;
  create(name: string): Promise<CreateWorkspaceResponse>;
  connect(workspaceId: string): Promise<ConnectWorkspaceResponse>;
  /** Sets the target URL; an empty URL clears it. */
  setTargetUrl(workspaceId: string, targetUrl: string): Promise<void>;
  close(): void;
}

const ANSWER_WITHIN_MS = 10_000;

type Done<Response> = (error: ServiceError | null, response: Response) => void;

export function createOperator(coreAddress: string, token: string): Operator {
  const client = new WorkspaceServiceClient(coreAddress, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);

  function promised<Response>(
    start: (options: { readonly deadline: number }, done: Done<Response>) => unknown,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + ANSWER_WITHIN_MS };
      start(options, (error, response) => (error === null ? resolve(response) : reject(error)));
    });
  }

  return {
    async find(workspaceId) {
      try {
        const found = await promised<GetWorkspaceResponse>((options, done) =>
          client.getWorkspace({ workspaceId }, metadata, options, done),
        );
        return found.workspace;
      } catch (error) {
        if ((error as ServiceError).code === status.NOT_FOUND) return undefined;
        throw error;
      }
    },
    create: (name) =>
      promised((options, done) =>
        client.createWorkspace(CreateWorkspaceRequest.create({ name }), metadata, options, done),
      ),
    connect: (workspaceId) =>
      promised((options, done) => client.connectWorkspace({ workspaceId }, metadata, options, done)),
    async setTargetUrl(workspaceId, targetUrl) {
      await promised<SetTargetUrlResponse>((options, done) =>
        client.setTargetUrl({ workspaceId, targetUrl }, metadata, options, done),
      );
    },
    close: () => client.close(),
  };
}
