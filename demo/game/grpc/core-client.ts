import type { ClientDuplexStream } from "@grpc/grpc-js";
import {
  GameServiceClient,
  type FollowRequest,
  type FollowResponse,
  type OutboundEvent,
  type PublishResult,
} from "../../../proto/gen/chatbridge/v1/game";
import { backOffMs, REAL_TIMING } from "../../../kit/back-off";
import { bearer, callUnary, createGrpcClient } from "../../../runtime/core-channel";
import type { CoreConnection } from "../../../runtime/core-connection";

export type CoreClient = ReturnType<typeof connectToCore>;

const PUBLISH_WITHIN_MS = 10_000;
const BACK_OFF = { firstMs: 100, mostMs: 5_000 };

/** Creates a client of core's `GameService`. */
export function connectToCore({ address, token, tls }: CoreConnection) {
  const client = createGrpcClient(GameServiceClient, address, tls, {
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 5_000,
    // A stream without events is silent, so only pings detect a core that stopped without closing the connection.
    "grpc.keepalive_time_ms": 10_000,
    "grpc.keepalive_timeout_ms": 5_000,
  });
  const metadata = bearer(token);

  return {
    /** Publishes 1 to 100 events. A failed call rejects with a ServiceError. */
    async publishEvents(events: readonly OutboundEvent[]): Promise<readonly PublishResult[]> {
      const request = { events: [...events] };
      const { results } = await callUnary(client, client.publishEvents, request, metadata, PUBLISH_WITHIN_MS);
      return results;
    },
    follow: (): ClientDuplexStream<FollowRequest, FollowResponse> => client.follow(metadata),
    close: (): void => client.close(),
  };
}

/** Waits before a retry, longer after each failure. Resolves early when the signal is aborted. */
export function pauseAfter(failures: number, signal: AbortSignal): Promise<void> {
  return REAL_TIMING.pause(backOffMs(failures, BACK_OFF, REAL_TIMING.random()), signal);
}
