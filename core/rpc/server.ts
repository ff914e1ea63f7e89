import {
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { BridgeServiceService } from "../../proto/gen/chatbridge/v1/bridge";
import { LANE_METHOD } from "../../proto/lane-method";
import { WorkspaceServiceService } from "../../proto/gen/chatbridge/v1/workspace";
import { createAuthorization, type CallerRole } from "./authorization";
import { createBridgeService, type BridgeServiceContext } from "./bridge-service";
import { GAME_METHODS } from "./game-methods";
import { createGameService, type GameServiceContext } from "./game-service";
import { addReflection } from "./reflection";
import type { ReportFault } from "./status";
import { createWorkspaceService, type WorkspaceServiceContext } from "./workspace-service";

export type RpcContext = BridgeServiceContext & GameServiceContext & WorkspaceServiceContext;

export interface RpcOptions {
  /** host:port, or [host]:port; port 0 takes a free one. */
  readonly address: string;
  readonly tokens: readonly { readonly role: CallerRole; readonly token: string }[];
  /** PEM; with a client CA callers must show a certificate of it. */
  readonly tls:
    { readonly cert: Buffer; readonly key: Buffer; readonly clientCa: Buffer | undefined } | undefined;
  readonly report: ReportFault;
}

export interface RpcServer {
  readonly port: number;
  /** Stops accepting, lets calls finish for a while, then cuts them. */
  close(): Promise<void>;
}

/** Above 100 published events of the largest size. */
const MESSAGE_MAX_BYTES = 8 * 1024 * 1024;
const FINISH_WITHIN_MS = 5_000;

export async function listenForRpc(context: RpcContext, options: RpcOptions): Promise<RpcServer> {
  const server = new Server({
    interceptors: [createAuthorization(options.tokens)],
    "grpc.max_receive_message_length": MESSAGE_MAX_BYTES,
    "grpc.max_send_message_length": MESSAGE_MAX_BYTES,
  });
  const add = (definition: ServiceDefinition, service: object): void =>
    server.addService(definition, service as UntypedServiceImplementation);
  add({ ...BridgeServiceService, lane: LANE_METHOD }, createBridgeService(context, options.report));
  add(GAME_METHODS, createGameService(context, options.report));
  add(WorkspaceServiceService, createWorkspaceService(context, options.report));
  addReflection(server);

  const { tls } = options;
  const credentials = tls
    ? ServerCredentials.createSsl(
        tls.clientCa ?? null,
        [{ cert_chain: tls.cert, private_key: tls.key }],
        tls.clientCa !== undefined,
      )
    : ServerCredentials.createInsecure();
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(options.address, credentials, (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });

  let closing: Promise<void> | undefined;
  return {
    port,
    close() {
      closing ??= new Promise<void>((resolve) => {
        const late = setTimeout(() => server.forceShutdown(), FINISH_WITHIN_MS);
        server.tryShutdown(() => {
          clearTimeout(late);
          resolve();
        });
      });
      return closing;
    },
  };
}
