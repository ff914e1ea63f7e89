import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import {
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  ServerListenerBuilder,
  status,
  type ServerInterceptor,
} from "@grpc/grpc-js";
import { PUBLISH_BATCH_MAX } from "../../core/domain/bounds";
import { GAME_METHODS, messageOf, type Decoded, type EventsRequest } from "../../core/rpc/game-methods";
import { createHealthService, HEALTH_METHODS } from "../../core/rpc/health-service";
import { addReflection } from "../../core/rpc/reflection";
import { StatusError, unary, type ReportFault } from "../../core/rpc/status";
import { CoreUnavailable } from "../../kit/game/testing/memory-core";
import type { PublishEventsResponse } from "../../proto/gen/chatbridge/v1/game";
import type { HostPort } from "../../runtime/settings";
import type { FakeChat } from "./fake-chat";
import { createFollowHandler } from "./follow-call";

/** Maximum size of a gRPC message in bytes, as in core. */
const MESSAGE_MAX_BYTES = 8 * 1024 * 1024;
const CONNECTIONS_MAX = 256;

/** Serves `GameService`, reflection and health over gRPC. Port 0 selects a free port. */
export async function listenForGames(
  chat: FakeChat,
  at: HostPort,
  token: string | undefined,
  report: ReportFault,
): Promise<{ readonly port: number; close(): void }> {
  const server = new Server({
    interceptors: [createTokenCheck(token)],
    "grpc.max_receive_message_length": MESSAGE_MAX_BYTES,
    "grpc.max_send_message_length": MESSAGE_MAX_BYTES,
    "grpc.enable_channelz": 0,
  });
  const service = {
    publishEvents: unary("PublishEvents", report, async (request: Decoded<EventsRequest>) =>
      publish(chat, request),
    ),
    follow: createFollowHandler(chat, report),
  };
  server.addService(GAME_METHODS, service);
  const health = createHealthService({ whyNotReady: async () => undefined, isStopping: () => false }, report);
  server.addService(HEALTH_METHODS, health);
  addReflection(server);
  // gRPC's own listener cannot limit the number of connections.
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    injector.injectConnection(socket);
  });
  listener.maxConnections = CONNECTIONS_MAX;
  listener.listen(at.port, at.host);
  await once(listener, "listening");
  return {
    port: (listener.address() as AddressInfo).port,
    close(): void {
      listener.close();
      // gRPC does not close all connections that were injected.
      for (const socket of sockets) socket.destroySoon();
      server.forceShutdown();
    },
  };
}

function publish(chat: FakeChat, request: Decoded<EventsRequest>): PublishEventsResponse {
  const { count, events } = messageOf(request);
  if (count < 1 || count > PUBLISH_BATCH_MAX) {
    const details = `events must have 1 to ${PUBLISH_BATCH_MAX} entries, not ${count}`;
    throw new StatusError(status.INVALID_ARGUMENT, details);
  }
  try {
    const results = [...events].flatMap(({ event }) =>
      "fault" in event ? [chat.core.refuse(event.fault)] : chat.publish(event.message),
    );
    return { results };
  } catch (error) {
    if (!(error instanceof CoreUnavailable)) throw error;
    throw new StatusError(status.UNAVAILABLE, "the store is unavailable: try again");
  }
}

/** Services that need no token, because probes cannot send one. */
const OPEN = ["grpc.health.v1.Health"];

/** Rejects calls without a bearer token. If `token` is set, also rejects calls with another token. */
function createTokenCheck(token: string | undefined): ServerInterceptor {
  const details =
    token === undefined
      ? "the token is missing: send any token as metadata 'authorization: Bearer <token>'"
      : "the token is missing or unknown: send the token of --token-file as metadata 'authorization: Bearer <token>'";
  return (method, call) =>
    new ServerInterceptingCall(call, {
      start(next) {
        const listener = new ServerListenerBuilder()
          .withOnReceiveMetadata((metadata, proceed) => {
            const [header] = metadata.get("authorization");
            const sent = /^Bearer +(\S+)$/i.exec(String(header ?? ""))?.[1];
            const isOpen = OPEN.includes(method.path.split("/")[1] ?? "");
            if (isOpen || (sent !== undefined && sent === (token ?? sent))) proceed(metadata);
            else call.sendStatus({ code: status.UNAUTHENTICATED, details });
          })
          .build();
        next(listener);
      },
    });
}
