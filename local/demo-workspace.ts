import { credentials, Metadata, status, type ServiceError } from "@grpc/grpc-js";
import {
  CreateWorkspaceRequest,
  WorkspaceServiceClient,
  type ConnectWorkspaceResponse,
  type CreateWorkspaceResponse,
  type Workspace,
} from "../proto/gen/chatbridge/v1/workspace";
import type { DemoWorkspace } from "./settings-file";
import { StartFault } from "./start-fault";

const ANSWER_WITHIN_MS = 10_000;

type Done<Response> = (error: ServiceError | null, response: Response) => void;

/**
 * The demo workspace: the one that is known, connected again where someone has
 * disconnected it, or a new one where core does not have it.
 */
export async function demoWorkspace(
  coreAddress: string,
  operatorToken: string,
  known: DemoWorkspace | undefined,
): Promise<DemoWorkspace> {
  const client = new WorkspaceServiceClient(coreAddress, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${operatorToken}`);
  const options = { deadline: Date.now() + ANSWER_WITHIN_MS };

  async function find(workspaceId: string): Promise<Workspace | undefined> {
    try {
      const found = await promised<{ workspace?: Workspace | undefined }>((done) =>
        client.getWorkspace({ workspaceId }, metadata, options, done),
      );
      return found.workspace;
    } catch (error) {
      if ((error as ServiceError).code === status.NOT_FOUND) return undefined;
      throw error;
    }
  }

  try {
    const found = known === undefined ? undefined : await find(known.id);
    if (found === undefined || known === undefined) {
      const request = CreateWorkspaceRequest.create({ name: "Demo" });
      return shown(
        await promised<CreateWorkspaceResponse>((done) =>
          client.createWorkspace(request, metadata, options, done),
        ),
      );
    }
    if (found.connected) return known;
    return shown(
      await promised<ConnectWorkspaceResponse>((done) =>
        client.connectWorkspace({ workspaceId: known.id }, metadata, options, done),
      ),
    );
  } catch (error) {
    throw new StartFault(`Core did not give a demo workspace: ${(error as Error).message}`);
  } finally {
    client.close();
  }
}

function promised<Response>(start: (done: Done<Response>) => unknown): Promise<Response> {
  return new Promise((resolve, reject) => {
    start((error, response) => (error === null ? resolve(response) : reject(error)));
  });
}

function shown({ workspace, signingSecret }: CreateWorkspaceResponse): DemoWorkspace {
  return { id: workspace?.id ?? "", secret: signingSecret };
}
