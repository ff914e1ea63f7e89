import { credentials, Metadata, type Client, type ServiceError } from "@grpc/grpc-js";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import {
  GameServiceClient,
  OutboundEvent,
  PublishEventsRequest,
  type PublishResult,
} from "../../proto/gen/chatbridge/v1/game";
import { CreateWorkspaceRequest, WorkspaceServiceClient } from "../../proto/gen/chatbridge/v1/workspace";
import { startCore, startEdge, TOKENS, type RunningProcess, type TestProcess } from "./processes";
import { startTestRedis, type TestRedis } from "./redis";
import { createWorkspaceApi, type WorkspaceApi } from "./workspace-api";

/** The whole service in real processes: a Redis, a core, an edge, and clients of core. */
export interface Service {
  readonly redis: { readonly url: string };
  readonly core: RunningProcess;
  readonly edge: RunningProcess;
  readonly clients: CoreClients;
  readonly workspaces: WorkspaceApi;
  /** http://127.0.0.1:port of the edge. */
  readonly url: string;
}

/** A service of a test file's own, whose parts it may stop, kill and configure. */
export interface TestService extends Service {
  readonly redis: TestRedis;
  readonly core: TestProcess;
  readonly edge: TestProcess;
  close(): Promise<void>;
}

/** Starts a service. A file that only uses one takes `sharedService` of shared-service.ts. */

export async function startService(
  environment: { readonly core?: Record<string, string>; readonly edge?: Record<string, string> } = {},
): Promise<TestService> {
  const redis = await startTestRedis();
  const core = await startCore(redis.url, environment.core);
  const edge = await startEdge(core.port, environment.edge);
  const clients = connectToCore(core.port);
  return {
    redis,
    core,
    edge,
    clients,
    workspaces: createWorkspaceApi(clients.workspaces),
    url: `http://127.0.0.1:${edge.port}`,
    async close() {
      clients.close();
      await edge.stop();
      await core.stop();
      await redis.close();
    },
  };
}

/** Clients of core's services; `call` gives them their tokens. */
export interface CoreClients {
  readonly games: GameServiceClient;
  readonly workspaces: WorkspaceServiceClient;
  close(): void;
}

/** A core that was away is found again soon, where gRPC would wait for up to two minutes. */
const RECONNECT_WITHIN_MS = 1000;

export function connectToCore(port: number): CoreClients {
  const address = `127.0.0.1:${port}`;
  const options = { "grpc.max_reconnect_backoff_ms": RECONNECT_WITHIN_MS };
  const games = new GameServiceClient(address, credentials.createInsecure(), options);
  const workspaces = new WorkspaceServiceClient(address, credentials.createInsecure(), options);
  return {
    games,
    workspaces,
    close() {
      games.close();
      workspaces.close();
    },
  };
}

/** Metadata that carries a bearer token. */
export function bearer(token: string): Metadata {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  return metadata;
}

type Unary<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: { deadline: number },
  done: (error: ServiceError | null, response: Response) => void,
) => unknown;

/**
 * Calls a unary method with a token; rejects with the ServiceError.
 *
 *     await call(clients.workspaces, clients.workspaces.getWorkspace, GetWorkspaceRequest.create({ workspaceId }))
 */
export function call<Request, Response>(
  client: Client,
  method: Unary<Request, Response>,
  request: Request,
  token: string = client instanceof GameServiceClient ? TOKENS.game : TOKENS.operator,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const options = { deadline: Date.now() + 10_000 };
    method.call(client, request, bearer(token), options, (error, response) =>
      error === null ? resolve(response) : reject(error),
    );
  });
}

/** A workspace as tests need it. */
export interface TestWorkspace {
  readonly id: string;
  readonly secret: string;
}

/** Creates a workspace: by default a connected poll workspace of the custom platform. */
export async function createWorkspace(
  { workspaces }: CoreClients,
  request: Parameters<typeof CreateWorkspaceRequest.create>[0] = {},
): Promise<TestWorkspace> {
  const { workspace, signingSecret } = await call(
    workspaces,
    workspaces.createWorkspace,
    CreateWorkspaceRequest.create({ name: "test", ...request }),
  );
  return { id: workspace?.id ?? "", secret: signingSecret };
}

/** Publishes events and answers the results, one for each. */
export async function publish(
  { games }: CoreClients,
  ...events: NonNullable<Parameters<typeof OutboundEvent.create>[0]>[]
): Promise<readonly PublishResult[]> {
  const { results } = await call(
    games,
    games.publishEvents,
    PublishEventsRequest.create({ events: events.map((event) => OutboundEvent.create(event)) }),
  );
  return results;
}

/** A message.create of plain text in channel "c1". */
export function textEvent(
  workspaceId: string,
  text: string,
): NonNullable<Parameters<typeof OutboundEvent.create>[0]> {
  return {
    workspaceId,
    content: {
      $case: "messageCreate",
      value: { channel: "c1", message: { kind: MessageKind.TEXT, text } },
    },
  };
}
