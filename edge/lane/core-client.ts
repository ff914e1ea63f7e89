import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Metadata } from "@grpc/grpc-js";
import {
  BridgeServiceClient,
  type PollRequest,
  type PollResponse,
  type ReceiveRequest,
  type ReceiveResponse,
} from "../../proto/gen/chatbridge/v1/bridge";
import { LANE_METHOD } from "../../proto/lane-method";
import { channelCredentials } from "../../runtime/core-channel";
import type { CoreConnection } from "../../runtime/core-connection";
import { CoreUnavailable } from "./core-unavailable";
import { createLanes } from "./lanes";

export type CoreClient = ReturnType<typeof createCoreClient>;

export interface CoreClientOptions extends CoreConnection {
  /** Is called with core's message when core rejects the token. */
  onRefused(why: string): void;
}

/** Lanes that are kept open. The channel distributes them over all cores in turn. */
const LANES = 4;
const IN_PROGRESS_MAX = 4_096;
const BYTES_UNDER_WAY_MAX = 64 * 1024 * 1024;

/** Longer than core's own time limits, so that core fails first. */
const DEADLINE_MS = 5_000;
const PROBE_WITHIN_MS = 1_000;
/** Room for a page of 100 events of the largest size. */
const MESSAGE_MAX_BYTES = 8 * 1024 * 1024;
/** Bytes that core may send before the edge has read them. HTTP/2's default of 64 KB is only a page or two. */
const WINDOW_BYTES = 8 * 1024 * 1024;

/** Creates the edge's client of core. Calls reject with `CoreUnavailable` when there is no answer. */
export function createCoreClient({ address, token, tls, onRefused }: CoreClientOptions) {
  const client = new BridgeServiceClient(address, channelCredentials(tls), {
    "grpc.max_receive_message_length": MESSAGE_MAX_BYTES,
    "grpc-node.flow_control_window": WINDOW_BYTES,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1_000,
    "grpc.keepalive_time_ms": 10_000,
    "grpc.keepalive_timeout_ms": 3_000,
    "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  });
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);

  const lanes = createLanes({
    open: () =>
      client.makeBidiStreamRequest(
        LANE_METHOD.path,
        LANE_METHOD.requestSerialize,
        LANE_METHOD.responseDeserialize,
        metadata,
      ),
    lanes: LANES,
    inProgressMax: IN_PROGRESS_MAX,
    bytesMax: BYTES_UNDER_WAY_MAX,
    deadlineMs: DEADLINE_MS,
    onRefused,
  });

  const connected = promisify(client.waitForReady.bind(client));

  return {
    load: lanes.load,
    async receive(request: ReceiveRequest): Promise<ReceiveResponse> {
      const bytes = request.body.length + headBytes(request);
      const answer = await lanes.call({ $case: "receive", value: request }, bytes);
      if (answer.$case !== "receive")
        throw new Error("core answered a receive with an answer of another kind");
      return answer.value;
    },
    async poll(request: PollRequest): Promise<PollResponse> {
      const bytes = UTF8_BYTES_MAX * request.queryString.length + headBytes(request);
      const answer = await lanes.call({ $case: "poll", value: request }, bytes);
      if (answer.$case !== "poll") throw new Error("core answered a poll with an answer of another kind");
      return answer.value;
    },
    /** Rejects when there is no connection to core; with `CoreRefusesToken` when core rejects the token. */
    async probe(): Promise<void> {
      await connected(Date.now() + PROBE_WITHIN_MS);
      await Promise.race([lanes.greet(), failAfter(PROBE_WITHIN_MS)]);
    },
    close(): void {
      lanes.close();
      client.close();
    },
  };
}

async function failAfter(ms: number): Promise<never> {
  await sleep(ms, undefined, { ref: false });
  throw new CoreUnavailable("core does not answer");
}

/** Bytes of one character of a header or a path, at most. */
const UTF8_BYTES_MAX = 2;

/** Bytes of a request in a message without its body, at most. A sender may send a long path and long headers. */
function headBytes({ workspaceId, signature = "" }: Pick<PollRequest, "workspaceId" | "signature">): number {
  return UTF8_BYTES_MAX * (workspaceId.length + signature.length);
}
