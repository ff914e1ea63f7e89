import { credentials, type Client } from "@grpc/grpc-js";
import { GameServiceClient } from "../../proto/gen/chatbridge/v1/game";
import { WorkspaceServiceClient } from "../../proto/gen/chatbridge/v1/workspace";
import { bearer, callUnary, type UnaryMethod } from "../../runtime/core-channel";
import { TOKENS } from "./processes";
import { HANG_MS } from "./wait";

export type CoreClients = ReturnType<typeof connectToCore>;

/** Connects to core's gRPC port. The clients reconnect within a second; gRPC's default is up to two minutes. */
export function connectToCore(port: number) {
  const address = `127.0.0.1:${port}`;
  const options = { "grpc.max_reconnect_backoff_ms": 1000 };
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

/** Calls a unary method with a token. Rejects with a ServiceError if the call fails. */
export function call<Request, Response>(
  client: Client,
  method: UnaryMethod<Request, Response>,
  request: Request,
  token: string = client instanceof GameServiceClient ? TOKENS.game : TOKENS.operator,
): Promise<Response> {
  return callUnary(client, method, request, bearer(token), HANG_MS);
}
