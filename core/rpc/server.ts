import type { Server, ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { WorkspaceServiceService } from "../../proto/gen/chatbridge/v1/workspace";
import { createAddressProbes } from "./address-probes";
import { BRIDGE_METHODS } from "./bridge-methods";
import { createBridgeService, type BridgeServiceContext } from "./bridge-service";
import { GAME_METHODS } from "./game-methods";
import { createCallPace } from "./call-pace";
import { withinShares } from "./call-shares";
import { createGameService, type GameServiceContext } from "./game-service";
import { createHealthService, HEALTH_METHODS, type HealthServiceContext } from "./health-service";
import { listen, type ListenerOptions } from "./listener";
import { addReflection } from "./reflection";
import type { ReportFault } from "./status";
import { withinScope } from "./workspace-scope";
import { createWorkspaceService, type WorkspaceServiceContext } from "./workspace-service";

export type RpcContext = BridgeServiceContext &
  GameServiceContext &
  WorkspaceServiceContext &
  HealthServiceContext;

/** Serves all gRPC services of core. */
export function listenForRpc(
  given: Omit<RpcContext, "addressProbes">,
  options: Omit<ListenerOptions, "pace"> & { readonly report: ReportFault },
) {
  const pace = createCallPace();
  const context: RpcContext = { ...given, addressProbes: createAddressProbes() };
  return listen({ ...options, pace }, (server: Server) => {
    const add = (definition: ServiceDefinition, service: object): void =>
      server.addService(definition, service as UntypedServiceImplementation);
    add(BRIDGE_METHODS, createBridgeService(context, options.report));
    add(GAME_METHODS, createGameService(context, options.report, pace));
    const stored = createWorkspaceService(context, options.report);
    const workspaceService = withinShares(stored, options.report, pace);
    add(WorkspaceServiceService, withinScope(workspaceService, options.report));
    add(HEALTH_METHODS, createHealthService(context, options.report));
    addReflection(server);
  });
}
