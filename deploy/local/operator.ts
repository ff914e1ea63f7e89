import { setTimeout as sleep } from "node:timers/promises";
import { status, type ServiceError } from "@grpc/grpc-js";
import {
  CreateWorkspaceRequest,
  WorkspaceServiceClient,
  type CreateWorkspaceResponse,
  type Workspace,
} from "../../proto/gen/chatbridge/v1/workspace";
import { bearer, callUnary, createGrpcClient, type UnaryMethod } from "../../runtime/core-channel";
import { signInPath } from "../../runtime/sign-in-link";
import type { DemoWorkspace } from "./settings-file";
import { StartFault } from "./start-fault";

/** An operator's calls to core. Each call rejects with a ServiceError when it fails. */
export type Operator = ReturnType<typeof createOperator>;

const ANSWER_WITHIN_MS = 10_000;
const RETRY_EVERY_MS = 50;

export function createOperator(coreAddress: string, token: string) {
  const client = createGrpcClient(WorkspaceServiceClient, coreAddress);
  const call = <Request, Response>(method: UnaryMethod<Request, Response>, request: Request) =>
    callUnary(client, method, request, bearer(token), ANSWER_WITHIN_MS);
  return {
    /** Resolves to the workspace; undefined if core has no workspace with this id. */
    async find(workspaceId: string): Promise<Workspace | undefined> {
      try {
        return (await call(client.getWorkspace, { workspaceId })).workspace;
      } catch (error) {
        if ((error as ServiceError).code === status.NOT_FOUND) return undefined;
        throw error;
      }
    },
    /** Creates a workspace. If `targetUrl` is empty, the workspace's bridge must poll. */
    create: (name: string, targetUrl = "") =>
      call(client.createWorkspace, CreateWorkspaceRequest.create({ name, targetUrl })),
    connect: (workspaceId: string) => call(client.connectWorkspace, { workspaceId }),
    /** Sets the target URL; an empty URL clears it. */
    setTargetUrl: (workspaceId: string, targetUrl: string) =>
      call(client.setTargetUrl, { workspaceId, targetUrl }),
    close: () => client.close(),
  };
}

/**
 * Resolves to the demo workspace. Reuses the workspace `known` if it exists in core, and reconnects it if necessary.
 * Otherwise creates a workspace with the name `name`. Throws StartFault when a call fails.
 */
export async function demoWorkspace(
  operator: Operator,
  known: DemoWorkspace | undefined,
  name: string,
): Promise<DemoWorkspace> {
  try {
    const found = known === undefined ? undefined : await operator.find(known.id);
    if (found === undefined || known === undefined) return shown(await operator.create(name));
    return found.connected ? known : shown(await operator.connect(known.id));
  } catch (error) {
    throw new StartFault(`Cannot get the demo workspace from core: ${(error as Error).message}`);
  }
}

/** Waits until core answers after a restart. Throws StartFault when core does not answer in time. */
export async function untilAnswered(operator: Operator, id: string, signal: AbortSignal): Promise<void> {
  const end = performance.now() + ANSWER_WITHIN_MS;
  for (;;) {
    try {
      await operator.find(id);
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (performance.now() > end) throw new StartFault(`Core does not answer: ${(error as Error).message}`);
      await sleep(RETRY_EVERY_MS);
    }
  }
}

function shown({ workspace, signingSecret }: CreateWorkspaceResponse): DemoWorkspace {
  return { id: workspace?.id ?? "", secret: signingSecret };
}

/**
 * Resolves to a link to the dashboard, with which one person can sign in once. Throws StartFault when the request
 * fails.
 */
export async function signInLink(dashboard: string, operatorToken: string): Promise<string> {
  try {
    return `${dashboard}${await signInPath(dashboard, operatorToken)}`;
  } catch (error) {
    throw new StartFault(`Cannot get a sign-in link from the dashboard: ${(error as Error).message}`);
  }
}
