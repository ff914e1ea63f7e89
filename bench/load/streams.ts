import type { Metadata, ServiceError } from "@grpc/grpc-js";
import type { ReceivedEvent } from "../../proto/gen/chatbridge/v1/event";
import {
  FollowAck,
  FollowOpen,
  FollowRequest,
  type FollowResponse,
  type GameServiceClient,
} from "../../proto/gen/chatbridge/v1/game";

/** A stream that is open until `close` is called or core closes the stream. */
export interface OpenStream {
  /** Resolves when the stream ends, with the reason as an error. */
  readonly ended: Promise<unknown>;
  close(): void;
}

export interface FollowOptions {
  readonly group: string;
  readonly consumer: string;
  readonly window?: number;
  /** Handles a delivery. If the result is true, the stream acks the delivery. */
  readonly onDelivery?: (received: ReceivedEvent | undefined) => boolean;
}

const OPEN_WITHIN_MS = 20_000;

/** Opens a `Follow` stream. Resolves when core has opened the stream. */
export function openFollow(
  games: GameServiceClient,
  metadata: Metadata,
  { group, consumer, window = 100, onDelivery }: FollowOptions,
): Promise<OpenStream> {
  const stream = games.follow(metadata);
  stream.on("data", ({ say }: FollowResponse) => {
    if (say?.$case !== "delivery" || onDelivery?.(say.value.received) !== true) return;
    const value = FollowAck.create({ deliveryIds: [say.value.deliveryId] });
    stream.write(FollowRequest.create({ say: { $case: "ack", value } }));
  });
  const value = FollowOpen.create({ group, consumer, window });
  stream.write(FollowRequest.create({ say: { $case: "open", value } }));
  return untilOpen(stream);
}

/** The methods of a gRPC stream that `untilOpen` needs. */
interface GrpcStream {
  on(event: "error", listener: (error: ServiceError) => void): unknown;
  on(event: "data" | "end", listener: () => void): unknown;
  cancel(): void;
}

/** Resolves when the first message of a stream arrives. Rejects if the stream ends first, or after `OPEN_WITHIN_MS`. */
export function untilOpen(stream: GrpcStream): Promise<OpenStream> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error("DEADLINE_EXCEEDED"));
      stream.cancel();
    }, OPEN_WITHIN_MS);
    const ended = new Promise<unknown>((resolveEnd) => {
      const end = (error: unknown): void => {
        clearTimeout(timer);
        resolveEnd(error);
        reject(error);
      };
      stream.on("error", end);
      // A failed stream emits both "error" and "end", and "error" comes first.
      stream.on("end", () => end(new Error("the stream ended")));
    });
    stream.on("data", () => {
      clearTimeout(timer);
      resolve({ ended, close: () => stream.cancel() });
    });
  });
}
