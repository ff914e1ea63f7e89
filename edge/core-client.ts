import { Client, Metadata, status } from "@grpc/grpc-js";
import {
  BridgeServiceClient,
  type PollRequest,
  type PollResponse,
  type ReceiveRequest,
  type ReceiveResponse,
} from "../proto/gen/chatbridge/v1/bridge";
import { LANE_METHOD } from "../proto/lane-method";
import { channelCredentials } from "../runtime/core-channel";
import type { CoreConnection } from "../runtime/core-connection";
import { CoreUnavailable } from "./core-unavailable";
import type { LaneLoad } from "./lane-load";
import { createLanes } from "./lanes";

/** Core as the edge sees it. Calls reject with CoreUnavailable when there is no answer. */
export interface CoreClient {
  receive(request: ReceiveRequest): Promise<ReceiveResponse>;
  poll(request: PollRequest): Promise<PollResponse>;
  readonly load: Readonly<LaneLoad>;
  /** Throws when no connection to core stands, CoreRefusesToken when it lets nobody in. */
  probe(): Promise<void>;
  close(): void;
}

export interface CoreClientOptions extends CoreConnection {
  /** Told in core's words when it refuses the token. */
  onRefused(why: string): void;
}

/** Lanes that are kept open; those of one channel go to its cores in turn. */
const LANES = 4;
const UNDER_WAY_MAX = 4_096;
const BYTES_UNDER_WAY_MAX = 64 * 1024 * 1024;

/** Above what core bounds its own calls by, so that it is core that gives up first. */
const DEADLINE_MS = 5_000;
const PROBE_WITHIN_MS = 1_000;
/** A page of 100 events of the largest size. */
const MESSAGE_MAX_BYTES = 8 * 1024 * 1024;
/** What core may send before it hears that we have read it: HTTP/2's own 64 KB is a page or two. */
const WINDOW_BYTES = 8 * 1024 * 1024;

export function createCoreClient({ address, token, tls, onRefused }: CoreClientOptions): CoreClient {
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
    underWayMax: UNDER_WAY_MAX,
    bytesMax: BYTES_UNDER_WAY_MAX,
    deadlineMs: DEADLINE_MS,
    onRefused,
  });

  function connected(): Promise<void> {
    return new Promise((resolve, reject) => {
      Client.prototype.waitForReady.call(client, Date.now() + PROBE_WITHIN_MS, (error) =>
        error ? reject(error) : resolve(),
      );
    });
  }

  return {
    load: lanes.load,
    async receive(request) {
      const bytes = request.body.length + headBytes(request);
      const answer = await lanes.call({ $case: "receive", value: request }, bytes);
      if (answer.$case !== "receive") throw new Error("core answered a receive with something else");
      return answer.value;
    },
    async poll(request) {
      const bytes = UTF8_BYTES_MAX * request.queryString.length + headBytes(request);
      const answer = await lanes.call({ $case: "poll", value: request }, bytes);
      if (answer.$case !== "poll") throw new Error("core answered a poll with something else");
      return answer.value;
    },
    async probe() {
      await connected();
      await within(PROBE_WITHIN_MS, lanes.greet());
    },
    close() {
      lanes.close();
      client.close();
    },
  };
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new CoreUnavailable("core does not answer")), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What a character of a header or a path may take. */
const UTF8_BYTES_MAX = 2;

/** What a request takes in a message at most, but for its body: a sender may make its path and its headers long. */
function headBytes({ workspaceId, signature = "" }: Pick<PollRequest, "workspaceId" | "signature">): number {
  return UTF8_BYTES_MAX * (workspaceId.length + signature.length);
}

/** Statuses that tell of no answer. */
export const OUT_OF_REACH: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.RESOURCE_EXHAUSTED,
]);
