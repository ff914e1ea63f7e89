import { credentials, Metadata, type Client, type ServiceError } from "@grpc/grpc-js";
import { BridgeServiceClient } from "../proto/gen/chatbridge/v1/bridge";
import {
  GameServiceClient,
  PublishEventsRequest,
  type OutboundEvent,
  type PublishedEvent,
} from "../proto/gen/chatbridge/v1/game";
import { CreateWorkspaceRequest, WorkspaceServiceClient } from "../proto/gen/chatbridge/v1/workspace";
import { addressOf } from "./addresses";
import { CheckFault } from "./part";

/** Clients of core's services. */
export interface CoreClients {
  readonly bridges: BridgeServiceClient;
  readonly games: GameServiceClient;
  readonly workspaces: WorkspaceServiceClient;
  close(): void;
}

export interface Workspace {
  readonly id: string;
  readonly secret: string;
  /** Source address of its bridge's requests. */
  readonly address: string;
}

export const TOKENS = {
  edge: "edge-token-of-the-benchmark",
  game: "game-token-of-the-benchmark",
  operator: "operator-token-of-the-benchmark",
} as const;

const ANSWER_WITHIN_MS = 30_000;
const CREATED_AT_ONCE = 64;

export function connectToCore(address: string): CoreClients {
  const bridges = new BridgeServiceClient(address, credentials.createInsecure());
  const games = new GameServiceClient(address, credentials.createInsecure());
  const workspaces = new WorkspaceServiceClient(address, credentials.createInsecure());
  return {
    bridges,
    games,
    workspaces,
    close() {
      for (const client of [bridges, games, workspaces]) client.close();
    },
  };
}

export function bearer(role: keyof typeof TOKENS): Metadata {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${TOKENS[role]}`);
  return metadata;
}

type Unary<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: { deadline: number },
  done: (error: ServiceError | null, response: Response) => void,
) => unknown;

function call<Request, Response>(
  client: Client,
  method: Unary<Request, Response>,
  request: Request,
  metadata: Metadata,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const options = { deadline: Date.now() + ANSWER_WITHIN_MS };
    method.call(client, request, metadata, options, (error, response) =>
      error === null ? resolve(response) : reject(new CheckFault(`a call of core failed: ${error.message}`)),
    );
  });
}

const AS_OPERATOR = bearer("operator");
const AS_GAME = bearer("game");

/** Creates workspaces, `CREATED_AT_ONCE` at a time. Without a target URL they are poll workspaces. */
export async function createWorkspaces(
  { workspaces: client }: CoreClients,
  count: number,
  targetUrl = "",
): Promise<readonly Workspace[]> {
  const made: Workspace[] = [];
  let asked = 0;
  const makeSome = async (): Promise<void> => {
    while (asked < count) {
      const request = CreateWorkspaceRequest.create({ name: `Workspace ${++asked}`, targetUrl });
      const { workspace, signingSecret } = await call(client, client.createWorkspace, request, AS_OPERATOR);
      made.push({ id: workspace?.id ?? "", secret: signingSecret, address: addressOf(made.length) });
    }
  };
  await Promise.all(Array.from({ length: CREATED_AT_ONCE }, makeSome));
  return made;
}

/** Publishes events in one call. Throws CheckFault unless all of them are published. */
export async function publish(
  { games }: CoreClients,
  events: OutboundEvent[],
): Promise<readonly PublishedEvent[]> {
  const request = PublishEventsRequest.create({ events });
  const { results } = await call(games, games.publishEvents, request, AS_GAME);
  if (results.length !== events.length) throw new CheckFault("core did not answer every published event");
  return results.map(({ outcome }) => {
    if (outcome?.$case === "published") return outcome.value;
    throw new CheckFault(`core rejected an event: ${JSON.stringify(outcome)}`);
  });
}
