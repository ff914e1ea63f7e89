import type { ClientReadableStream } from "@grpc/grpc-js";
import type { FastifyRequest } from "fastify";
import { WorkspaceServiceClient, type WatchWorkspaceResponse } from "../../proto/gen/chatbridge/v1/workspace";
import { bearer, callUnary, createGrpcClient, type UnaryMethod } from "../../runtime/core-channel";
import type { Certificates } from "../../runtime/certificates";

/** Milliseconds to wait for an answer: longer than 5 seconds, because a test event can take that long. */
const DEADLINE_MS = 10_000;
/** Milliseconds to wait for the result of a test operator event: up to 20 s in a queue, and up to 10 s for the receiver. */
export const OPERATOR_TEST_MS = 32_000;
/** Maximum bytes of an answer: enough for 1,000 workspaces with all fields at their maximum length. */
const MESSAGE_MAX_BYTES = 8 * 1024 * 1024;

/** The options of the gRPC channels to core. */
export const CORE_CHANNEL = {
  "grpc.max_receive_message_length": MESSAGE_MAX_BYTES,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1_000,
  // If core hangs, the edge notices within the sum of the two keepalive times below. The sum must be below 5 s,
  // because the front end considers a stream broken after 5 s.
  "grpc.keepalive_time_ms": 1_000,
  "grpc.keepalive_timeout_ms": 3_000,
  "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
} as const;

/** A client of core's WorkspaceService with one operator's token. */
export interface Operator {
  readonly methods: WorkspaceServiceClient;
  /** Calls a method of `methods`. Rejects with the `ServiceError` of a failed call. */
  call<Request, Response>(
    method: UnaryMethod<Request, Response>,
    request: NoInfer<Request>,
    withinMs?: number,
  ): Promise<Response>;
  watch(workspaceId: string): ClientReadableStream<WatchWorkspaceResponse>;
}

/** Returns the client with the token of the request's session. */
export type OperatorOf = (request: FastifyRequest) => Operator;

export type WorkspaceClient = ReturnType<typeof createWorkspaceClient>;

export function createWorkspaceClient(address: string, tls: Certificates | undefined) {
  const methods = createGrpcClient(WorkspaceServiceClient, address, tls, CORE_CHANNEL);
  return {
    /** Returns a client that sends `token` with every call. */
    as(token: string): Operator {
      const metadata = bearer(token);
      return {
        methods,
        call: (method, request, withinMs = DEADLINE_MS) =>
          callUnary(methods, method, request, metadata, withinMs),
        watch: (workspaceId) => methods.watchWorkspace({ workspaceId }, metadata),
      };
    },
    close: () => methods.close(),
  };
}

/** The name and the scope of an operator's token. */
export interface SignedInToken {
  readonly tokenName: string;
  /** Ids of the workspaces to which this token is limited; null if the token is not limited. */
  readonly workspaces: readonly string[] | null;
}

/** Describes the operator's token. Rejects with the `ServiceError` of the call if core does not accept the token. */
export async function describeToken({ call, methods }: Operator): Promise<SignedInToken> {
  const { tokenName, workspaceIds } = await call(methods.getCaller, {});
  return { tokenName, workspaces: workspaceIds.length === 0 ? null : workspaceIds };
}
