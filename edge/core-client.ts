import { Client, credentials, Metadata, status, type ServiceError } from "@grpc/grpc-js";
import {
  BridgeServiceClient,
  type PollRequest,
  type PollResponse,
  type ReceiveRequest,
  type ReceiveResponse,
} from "../proto/gen/chatbridge/v1/bridge";
import type { ClientTls } from "./config";

/** Core, or its answer, is out of reach: whether it did what it was asked is unknown. */
export class CoreUnavailable extends Error {
  override readonly name = "CoreUnavailable";
}

/** Core as the edge sees it. */
export interface CoreClient {
  receive(request: ReceiveRequest): Promise<ReceiveResponse>;
  poll(request: PollRequest): Promise<PollResponse>;
  /** Throws when no connection to core stands. */
  probe(): Promise<void>;
  close(): void;
}

export interface CoreClientOptions {
  readonly address: string;
  readonly token: string;
  readonly tls: ClientTls | undefined;
}

/** Above what core bounds its own calls by, so that it is core that gives up first. */
const DEADLINE_MS = 5_000;
const PROBE_WITHIN_MS = 1_000;
/** A page of 100 events of the largest size. */
const MESSAGE_MAX_BYTES = 8 * 1024 * 1024;

export function createCoreClient({ address, token, tls }: CoreClientOptions): CoreClient {
  const channelCredentials = tls
    ? credentials.createSsl(tls.ca, tls.key ?? null, tls.cert ?? null)
    : credentials.createInsecure();
  const client = new BridgeServiceClient(address, channelCredentials, {
    "grpc.max_receive_message_length": MESSAGE_MAX_BYTES,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1_000,
    "grpc.keepalive_time_ms": 10_000,
    "grpc.keepalive_timeout_ms": 3_000,
    "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  });
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);

  function call<Response>(
    start: (
      metadata: Metadata,
      options: { deadline: number },
      done: (error: ServiceError | null, response: Response) => void,
    ) => unknown,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      start(metadata, { deadline: Date.now() + DEADLINE_MS }, (error, response) => {
        if (error === null) resolve(response);
        else reject(OUT_OF_REACH.has(error.code) ? new CoreUnavailable(status[error.code]) : error);
      });
    });
  }

  return {
    receive: (request) => call((meta, options, done) => client.receive(request, meta, options, done)),
    poll: (request) => call((meta, options, done) => client.poll(request, meta, options, done)),
    probe: () =>
      new Promise((resolve, reject) => {
        Client.prototype.waitForReady.call(client, Date.now() + PROBE_WITHIN_MS, (error) =>
          error ? reject(error) : resolve(),
        );
      }),
    close: () => client.close(),
  };
}

const OUT_OF_REACH: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.RESOURCE_EXHAUSTED,
]);
