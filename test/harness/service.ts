import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { OutboundEvent, PublishEventsRequest } from "../../proto/gen/chatbridge/v1/game";
import { call, connectToCore, type CoreClients } from "./core-clients";
import { startCore, startEdge, type RunningProcess, type TestProcess } from "./processes";
import { startTestRedis, type TestRedis } from "./redis";
import { createWorkspaceApi, type CreateInit, type WorkspaceApi } from "./workspace-api";

/** The whole service as real processes (Redis, core and an edge), and clients of core. */
export interface Service {
  readonly redis: { readonly url: string };
  readonly core: RunningProcess;
  readonly edge: RunningProcess;
  readonly clients: CoreClients;
  readonly workspaces: WorkspaceApi;
  readonly url: string;
}

/** A separate service for one test file. The file may stop, kill and configure the parts of the service. */
export interface TestService extends Service {
  readonly redis: TestRedis;
  readonly core: TestProcess;
  readonly edge: TestProcess;
  close(): Promise<void>;
}

/**
 * Starts a service. A test file that does not stop, kill or configure any part of the service should call
 * `sharedService` instead.
 */
export async function startService(
  environment: {
    readonly core?: Record<string, string>;
    readonly edge?: Record<string, string>;
    /** Settings of Redis, as arguments of redis-server. */
    readonly redis?: readonly string[];
  } = {},
): Promise<TestService> {
  const redis = await startTestRedis(environment.redis);
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

export interface TestWorkspace {
  readonly id: string;
  readonly secret: string;
}

/** Creates a workspace, by default a connected poll workspace of the custom platform. */
export function createWorkspace({ workspaces }: CoreClients, request?: CreateInit): Promise<TestWorkspace> {
  return createWorkspaceApi(workspaces).make(request);
}

type EventInit = NonNullable<Parameters<typeof OutboundEvent.create>[0]>;

/** Publishes events, and returns one result for each event. */
export async function publish({ games }: CoreClients, ...events: readonly EventInit[]) {
  const request = PublishEventsRequest.create({ events: events.map((event) => OutboundEvent.create(event)) });
  return (await call(games, games.publishEvents, request)).results;
}

export function textEvent(workspaceId: string, text: string): EventInit {
  const value = { channel: "c1", message: { kind: MessageKind.TEXT, text } };
  return { workspaceId, content: { $case: "messageCreate", value } };
}

/** An additional core and its clients. */
export interface FurtherCore extends Pick<Service, "clients" | "workspaces"> {
  readonly core: TestProcess;
}

/** Starts another core on the Redis at `redisUrl`, calls `use`, and stops this core. */
export async function withCore(
  redisUrl: string,
  environment: Record<string, string>,
  use: (further: FurtherCore) => Promise<unknown>,
): Promise<void> {
  const core = await startCore(redisUrl, environment);
  const clients = connectToCore(core.port);
  try {
    await use({ core, clients, workspaces: createWorkspaceApi(clients.workspaces) });
  } finally {
    clients.close();
    await core.stop();
  }
}
