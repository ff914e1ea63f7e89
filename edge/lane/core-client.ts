import { setTimeout as sleep } from "node:timers/promises";
import type { ServiceError } from "@grpc/grpc-js";
import {
  BridgeServiceClient,
  type PollRequest,
  type PollResponse,
  type ReceiveRequest,
  type ReceiveResponse,
  type ReportRefusalsRequest,
} from "../../proto/gen/chatbridge/v1/bridge";
import { LANE_METHOD } from "../../proto/lane-method";
import { bearer, callUnary, createGrpcClient, failureCause } from "../../runtime/core-channel";
import type { CoreConnection } from "../../runtime/core-connection";
import { CoreCredentials, TOKEN_REFUSALS } from "../../runtime/core-credentials";
import { CoreUnavailable } from "./core-unavailable";
import type { LaneStream } from "./lane";
import { Lanes } from "./lanes";
import { createRenewedClient, untilConnected } from "./renewed-client";

export type CoreClient = ReturnType<typeof createCoreClient>;

export interface CoreClientOptions extends CoreConnection {
  /** Replaces the credentials of the connection with credentials that can change. */
  readonly credentials?: CoreCredentials;
  /** Is called with core's message when core rejects the token. */
  onRefused(why: string): void;
  /** Milliseconds between renewals of the connections. */
  readonly renewEveryMs?: number;
}

/** Number of lanes that are kept open. The gRPC channel assigns new lanes to the cores in turn. */
const LANES = 4;
const MB = 1_048_576;
/**
 * Maximum number of pending calls, and maximum total of their bytes. An address that sends 500 requests per second
 * reaches its share only when each call takes 3 seconds, which is core's own timeout. The share of an address is
 * smaller than the share of a workspace: the edge cannot check signatures, so anybody can send requests that name
 * somebody else's workspace.
 */
const IN_PROGRESS_MAX = { all: 4_096, workspace: 2_048, address: 1_536 } as const;
const BYTES_UNDER_WAY_MAX = { all: 64 * MB, workspace: 32 * MB, address: 24 * MB } as const;

/**
 * Milliseconds to wait for an answer. Core's own timeouts are shorter, so core can answer with an error before this
 * deadline.
 */
const DEADLINE_MS = 5_000;
/** At 500 polls per second, ten polls share a message, which halves the service's processor time. */
const POLLS_EVERY_MS = 20;
const PROBE_WITHIN_MS = 1_000;
/** Milliseconds to wait until gRPC reports why a connection failed. */
const REASON_WITHIN_MS = 200;
/** The default of `renewEveryMs`. A renewal costs one lookup of core's name, and one connection to each core. */
const RENEW_EVERY_MS = 30_000;
/** Maximum bytes of an answer: enough for a page of 100 events of the maximum size. */
const MESSAGE_MAX_BYTES = 8 * 1024 * 1024;
/**
 * Maximum bytes that core may send before the edge reads them. HTTP/2's default of 64 KB holds only about 100 small
 * events.
 */
const WINDOW_BYTES = 8 * 1024 * 1024;

const CHANNEL_OPTIONS = {
  "grpc.max_receive_message_length": MESSAGE_MAX_BYTES,
  "grpc-node.flow_control_window": WINDOW_BYTES,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1_000,
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 3_000,
  "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  // When a core closes its connection, the gRPC client looks up core's name again, but at most this often.
  "grpc.dns_min_time_between_resolutions_ms": 1_000,
  // A renewed client opens new connections, because a load balancer in front of core distributes connections, not
  // calls.
  "grpc.use_local_subchannel_pool": 1,
};

/** Creates the edge's client for core. Calls reject with `CoreUnavailable` when there is no answer. */
export function createCoreClient({
  onRefused,
  renewEveryMs = RENEW_EVERY_MS,
  credentials,
  ...connection
}: CoreClientOptions) {
  const own = credentials ?? new CoreCredentials(connection);
  const renewed = createRenewedClient({
    create: () => createGrpcClient(BridgeServiceClient, connection.address, own.tls, CHANNEL_OPTIONS),
    everyMs: renewEveryMs,
    onRenewed() {
      own.preferNewest();
      lanes.renew();
    },
  });
  own.onRenewed(() => lanes.renew());

  const open = () => openLane(renewed.current, own);

  const lanes = new Lanes({
    open,
    lanes: LANES,
    inProgressMax: IN_PROGRESS_MAX,
    bytesMax: BYTES_UNDER_WAY_MAX,
    deadlineMs: DEADLINE_MS,
    pollsEveryMs: POLLS_EVERY_MS,
    // If there are two tokens, `own` tries the other token, and logs when core rejects both tokens.
    onRefused: (why) => (own.hasOther ? undefined : onRefused(why)),
  });

  return {
    load: lanes.load,
    /** @param traceparent context of the edge's span for the request; undefined when the request is not sampled */
    async receive(request: ReceiveRequest, traceparent?: string): Promise<ReceiveResponse> {
      const bytes = request.body.length + headBytes(request);
      const answer = await lanes.call({ $case: "receive", value: request }, bytes, traceparent);
      if (answer.$case !== "receive")
        throw new Error("core answered a receive call with an answer of a different kind");
      return answer.value;
    },
    async poll(request: PollRequest, traceparent?: string): Promise<PollResponse> {
      const bytes = UTF8_BYTES_MAX * request.queryString.length + headBytes(request);
      const answer = await lanes.call({ $case: "poll", value: request }, bytes, traceparent);
      if (answer.$case !== "poll")
        throw new Error("core answered a poll call with an answer of a different kind");
      return answer.value;
    },
    /** Rejects when core does not answer, or when core runs an older release that does not support the call. */
    async reportRefusals(request: ReportRefusalsRequest): Promise<void> {
      const client = renewed.current;
      await own.call((metadata) => callUnary(client, client.reportRefusals, request, metadata, DEADLINE_MS));
    },
    /**
     * Rejects when core does not accept a lane in time: with `CoreRefusesToken` if core rejects the token, and
     * otherwise with an error that gives the reason.
     */
    async probe(): Promise<void> {
      // While a core stops, the client can temporarily lack a connection for new lanes, but the open lanes still carry
      // calls.
      if (lanes.isOpen) return;
      await untilConnected(renewed.current, PROBE_WITHIN_MS).catch(async () => {
        throw new CoreUnavailable(await whyNotConnected(open()));
      });
      await Promise.race([lanes.greet(), failAfter(PROBE_WITHIN_MS)]);
    },
    close(): void {
      lanes.close();
      renewed.close();
    },
  };
}

/** Opens a stream with the current token, and records whether core accepts the token. */
function openLane(client: BridgeServiceClient, credentials: CoreCredentials): LaneStream {
  const { token } = credentials;
  const { path, requestSerialize, responseDeserialize } = LANE_METHOD;
  const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, bearer(token));
  stream.once("metadata", () => credentials.accepted(token));
  stream.on("error", ({ code }: ServiceError) => {
    if (TOKEN_REFUSALS.has(code)) void credentials.refused(token);
  });
  return stream;
}

/** Returns why there is no connection to core. gRPC reports the reason only to a call, such as `stream`. */
async function whyNotConnected(stream: LaneStream): Promise<string> {
  const failed = new Promise<string>((resolve) =>
    stream.on("error", ({ details }: ServiceError) => resolve(failureCause(details))),
  );
  const late = sleep(REASON_WITHIN_MS, "no connection in time", { ref: false });
  const reason = await Promise.race([failed, late]);
  stream.cancel();
  return reason;
}

async function failAfter(ms: number): Promise<never> {
  await sleep(ms, undefined, { ref: false });
  throw new CoreUnavailable("core does not answer");
}

/** Maximum UTF-8 bytes of one character in a header or a query string. */
const UTF8_BYTES_MAX = 2;

/**
 * Returns the maximum bytes of a request's workspace id and signature. Both count toward the limits, because a sender
 * can make either of them long.
 */
function headBytes({ workspaceId, signature = "" }: Pick<PollRequest, "workspaceId" | "signature">): number {
  return UTF8_BYTES_MAX * (workspaceId.length + signature.length);
}
