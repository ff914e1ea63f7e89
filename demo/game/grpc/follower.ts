import { setImmediate } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import type { Logger } from "pino";
import {
  FollowOpen,
  FollowRequest,
  type Delivery,
  type FollowResponse,
} from "../../../proto/gen/chatbridge/v1/game";
import { pauseAfter, type CoreClient } from "./core-client";

export interface FollowerOptions {
  readonly core: CoreClient;
  readonly group: string;
  readonly consumer: string;
  readonly log: Logger;
  /** Handles an event. The event is acked when this settles, and redelivered when the ack deadline passes first. */
  readonly handle: (delivery: Delivery) => Promise<void>;
}

const WINDOW = 200;
const CLOSE_WITHIN_MS = 1_000;
/** Core rejected the token or the request, so a retry fails until a setting changes. */
const REFUSALS = [status.UNAUTHENTICATED, status.PERMISSION_DENIED, status.INVALID_ARGUMENT];

/**
 * Follows inbound events, opening a new stream whenever one ends.
 *
 *     open ─▶ opened ─▶ deliveries, each acked once it is handled ─▶ end
 *      ▲                                                              │
 *      └───────────────────────────── back off ◀──────────────────────┘
 */
export function startFollower({ core, group, consumer, log, handle }: FollowerOptions) {
  const over = new AbortController();
  let open = (): void => undefined;
  let refuse = (_reason: Error): void => undefined;
  const opened = new Promise<void>((resolve, reject) => {
    open = resolve;
    refuse = reject;
  });
  let isFollowing = false;
  let failures = 0;
  let isPaused = false;
  let endStream = (): void => undefined;

  async function deliver(delivery: Delivery, ack: (id: string) => void): Promise<void> {
    const { deliveryId } = delivery;
    try {
      await handle(delivery);
    } catch (error) {
      // A redelivery would fail in the same way, so the event is acked, and later events are not blocked.
      log.error({ err: error, deliveryId }, "an event failed unexpectedly and is dropped");
    }
    ack(deliveryId);
  }

  /** Runs one stream. Resolves when the stream has ended, with its status. */
  function followOnce(): Promise<{ readonly code: status; readonly details: string }> {
    return new Promise((resolve) => {
      const stream = core.follow();
      const say = (request: Parameters<typeof FollowRequest.create>[0]): void => {
        if (stream.writable) stream.write(FollowRequest.create(request));
      };
      const ack = (id: string): void => say({ say: { $case: "ack", value: { deliveryIds: [id] } } });
      stream.on("data", ({ say: told }: FollowResponse) => {
        if (told?.$case === "opened") {
          isFollowing = true;
          failures = 0;
          log.info({ group, consumer }, "following");
          open();
        } else if (told?.$case === "delivery" && !isPaused) {
          void deliver(told.value, ack);
        }
      });
      // The handler of "status" below gets the same failure.
      stream.on("error", () => undefined);
      stream.on("status", ({ code, details }) => {
        isFollowing = false;
        resolve({ code, details });
      });
      endStream = () => {
        stream.end();
        setTimeout(() => stream.cancel(), CLOSE_WITHIN_MS).unref();
      };
      say({ say: { $case: "open", value: FollowOpen.create({ group, consumer, window: WINDOW }) } });
    });
  }

  async function run(): Promise<void> {
    while (!over.signal.aborted) {
      const { code, details } = await followOnce();
      if (over.signal.aborted) return;
      const why = `${details} (${status[code]})`;
      const isRefused = REFUSALS.includes(code);
      if (isRefused) {
        refuse(new Error(`core rejects this game, check that CORE_TOKEN has the role game: ${why}`));
      }
      log[isRefused ? "error" : "warn"]({ code: status[code], details }, "not following, retrying");
      await pauseAfter(++failures, over.signal);
    }
  }

  const ended = run();
  return {
    /** Resolves when the first stream is opened; rejects when core rejects the game, or `close` is called, first. */
    opened,
    get isFollowing() {
      return isFollowing;
    },
    /** Ignores further deliveries. Those in progress are still acked. */
    pause(): void {
      isPaused = true;
    },
    /** Sends the last acks and closes the stream. Core redelivers unacked events to the group's next stream. */
    async close(): Promise<void> {
      over.abort();
      refuse(new Error("closed"));
      // Events that were just handled are acked first.
      await setImmediate();
      endStream();
      await ended;
    },
  };
}
