import { setImmediate } from "node:timers/promises";
import { status, type ServiceError } from "@grpc/grpc-js";
import type { Logger } from "pino";
import {
  FollowOpen,
  type Delivery,
  type FollowRequest,
  type FollowResponse,
} from "../../../proto/gen/chatbridge/v1/game";
import { failureCause } from "../../../runtime/core-channel";
import { pauseAfter, type CoreClient } from "./core-client";

export interface FollowerOptions {
  readonly core: CoreClient;
  readonly group: string;
  readonly consumer: string;
  readonly log: Logger;
  /** Handles an event. The event is acked when the promise settles, or redelivered if the ack deadline passes first. */
  readonly handle: (delivery: Delivery) => Promise<void>;
}

const WINDOW = 200;
const CLOSE_WITHIN_MS = 1_000;
/** Statuses with which core rejects the token or the request. A retry fails until a setting changes. */
const REFUSALS = [status.UNAUTHENTICATED, status.PERMISSION_DENIED, status.INVALID_ARGUMENT];

/**
 * Follows inbound events. Opens a new stream whenever a stream closes.
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
  let isPaused = false;
  let failures = 0;
  let stream = core.follow();

  function say(value: NonNullable<FollowRequest["say"]>): void {
    if (stream.writable) stream.write({ say: value });
  }

  async function deliver(delivery: Delivery): Promise<void> {
    const { deliveryId } = delivery;
    const from = stream;
    try {
      await handle(delivery);
    } catch (error) {
      // A redelivery would fail in the same way and block later events, so the event is acked.
      log.error({ err: error, deliveryId }, "an event failed unexpectedly and is dropped");
    }
    // A delivery can be acked only on the stream that delivered it.
    if (from === stream) say({ $case: "ack", value: { deliveryIds: [deliveryId] } });
  }

  /** Handles the messages of one stream until the stream ends. Rejects with a ServiceError when the stream fails. */
  async function followOnce(): Promise<void> {
    say({ $case: "open", value: FollowOpen.create({ group, consumer, window: WINDOW }) });
    for await (const { say: told } of stream as AsyncIterable<FollowResponse>) {
      if (told?.$case === "opened") {
        isFollowing = true;
        failures = 0;
        log.info({ group, consumer }, "following");
        open();
      } else if (told?.$case === "delivery" && !isPaused) {
        void deliver(told.value);
      }
    }
  }

  async function run(): Promise<void> {
    for (; ; stream = core.follow()) {
      const { code, details } = await followOnce().then(
        () => ({ code: status.OK, details: "core ended the stream" }),
        ({ code, details }: ServiceError) => ({ code, details: failureCause(details) }),
      );
      isFollowing = false;
      if (over.signal.aborted) return;
      const isRefused = REFUSALS.includes(code);
      if (isRefused) {
        const why = `${details} (${status[code]})`;
        refuse(new Error(`core rejects this game; check that CORE_TOKEN has the role game: ${why}`));
      }
      log[isRefused ? "error" : "warn"]({ code: status[code], details }, "not following, retrying");
      await pauseAfter(++failures, over.signal);
      if (over.signal.aborted) return;
    }
  }

  const ended = run();
  return {
    /** Resolves when the first stream is open. Rejects if, before that, core rejects the game or `close` is called. */
    opened,
    get isFollowing() {
      return isFollowing;
    },
    /** Ignores later deliveries. Deliveries in progress are still acked. */
    pause(): void {
      isPaused = true;
    },
    /** Sends the last acks and closes the stream. Core redelivers unacked events to the group's next stream. */
    async close(): Promise<void> {
      over.abort();
      refuse(new Error("closed"));
      // Events whose handling has just ended are acked first.
      await setImmediate();
      stream.end();
      const late = setTimeout(() => stream.cancel(), CLOSE_WITHIN_MS);
      await ended;
      clearTimeout(late);
    },
  };
}
