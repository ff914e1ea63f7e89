import { status } from "@grpc/grpc-js";
import type { Logger } from "pino";
import {
  FollowOpen,
  FollowRequest,
  type Delivery,
  type FollowResponse,
} from "../../../proto/gen/chatbridge/v1/game";
import { createBackOff } from "./back-off";
import { isRefused, type CoreClient } from "./core-client";

/**
 * Follows inbound events, opening a new stream whenever one ends.
 *
 *     open ─▶ opened ─▶ deliveries, each acked when it is dealt with ─▶ end
 *      ▲                                                                 │
 *      └───────────────────────────── back off ◀─────────────────────────┘
 */
export interface Follower {
  /** Resolves at the first opening; rejects when core refuses us before. */
  readonly opened: Promise<void>;
  readonly isFollowing: boolean;
  /** Takes no more deliveries. Those under way are still acked. */
  pause(): void;
  /** Says the last acks and ends; what is unacked comes again to whoever follows next. */
  close(): Promise<void>;
}

export interface FollowerOptions {
  readonly core: CoreClient;
  readonly group: string;
  readonly consumer: string;
  readonly log: Logger;
  /** Deals with an event; it is acked when this resolves, and comes again when it takes too long. */
  readonly handle: (delivery: Delivery) => Promise<void>;
}

const WINDOW = 200;
const CLOSE_WITHIN_MS = 1_000;

export function startFollower({ core, group, consumer, log, handle }: FollowerOptions): Follower {
  const over = new AbortController();
  let open = (): void => undefined;
  let refuse = (_reason: Error): void => undefined;
  const opened = new Promise<void>((resolve, reject) => {
    open = resolve;
    refuse = reject;
  });
  let isFollowing = false;
  let isPaused = false;
  let endStream = (): void => undefined;

  async function deliver(delivery: Delivery, ack: (id: string) => void): Promise<void> {
    try {
      await handle(delivery);
    } catch (error) {
      // A fault of ours would be one again: the event is let go, so that those behind it come.
      log.error({ err: error, deliveryId: delivery.deliveryId }, "an event failed unexpectedly");
    }
    ack(delivery.deliveryId);
  }

  /** One stream from its opening to its end. */
  function followOnce(): Promise<{
    readonly code: status;
    readonly details: string;
    readonly wasOpen: boolean;
  }> {
    return new Promise((resolve) => {
      const stream = core.follow();
      let wasOpen = false;
      const say = (request: Parameters<typeof FollowRequest.create>[0]): void => {
        if (stream.writable) stream.write(FollowRequest.create(request));
      };
      const ack = (id: string): void => say({ say: { $case: "ack", value: { deliveryIds: [id] } } });
      stream.on("data", ({ say: told }: FollowResponse) => {
        if (told?.$case === "opened") {
          wasOpen = isFollowing = true;
          log.info({ group, consumer }, "following");
          open();
        } else if (told?.$case === "delivery" && !isPaused) {
          void deliver(told.value, ack);
        }
      });
      // The status tells the same.
      stream.on("error", () => undefined);
      stream.on("status", ({ code, details }: { code: status; details: string }) => {
        isFollowing = false;
        resolve({ code, details, wasOpen });
      });
      endStream = () => {
        stream.end();
        setTimeout(() => stream.cancel(), CLOSE_WITHIN_MS).unref();
      };
      say({ say: { $case: "open", value: FollowOpen.create({ group, consumer, window: WINDOW }) } });
    });
  }

  async function run(): Promise<void> {
    const backOff = createBackOff();
    while (!over.signal.aborted) {
      const { code, details, wasOpen } = await followOnce();
      if (over.signal.aborted) return;
      if (wasOpen) backOff.reset();
      const refused = isRefused({ code });
      if (refused)
        refuse(
          new Error(`core refuses us, is CORE_TOKEN one of the role game? ${details} (${status[code]})`),
        );
      log[refused ? "error" : "warn"]({ code: status[code], details }, "not following, trying again");
      await backOff.wait(over.signal);
    }
  }

  const ended = run();
  return {
    opened,
    get isFollowing() {
      return isFollowing;
    },
    pause() {
      isPaused = true;
    },
    async close() {
      over.abort();
      endStream();
      await ended;
    },
  };
}
