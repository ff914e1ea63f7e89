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
/** Statuses with which core rejects the token or the request. A retry would fail until a setting is changed. */
const REFUSALS = [status.UNAUTHENTICATED, status.PERMISSION_DENIED, status.INVALID_ARGUMENT];

/**
 * Follows inbound events. Opens a new stream whenever a stream closes.
 *
 *     open ─▶ opened ─▶ deliveries, each acked once it is handled ─▶ end
 *      ▲                                                              │
 *      └───────────────────────────── back off ◀──────────────────────┘
 */
export class Follower {
  /**
   * Resolves when the first stream is open. Rejects if core rejects the game, or if `close` is called, before the
   * stream opens.
   */
  readonly opened: Promise<void>;
  readonly #options: FollowerOptions;
  readonly #over = new AbortController();
  #open = (): void => undefined;
  #refuse = (_reason: Error): void => undefined;
  #isFollowing = false;
  #isPaused = false;
  #failures = 0;
  #stream: ReturnType<CoreClient["follow"]>;
  readonly #ended: Promise<void>;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.opened = new Promise((resolve, reject) => {
      this.#open = resolve;
      this.#refuse = reject;
    });
    this.#stream = options.core.follow();
    this.#ended = this.#run();
  }

  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  /** Ignores later deliveries. Deliveries in progress are still acked. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Sends the last acks and closes the stream. Core redelivers unacked events to the group's next stream. */
  async close(): Promise<void> {
    this.#over.abort();
    this.#refuse(new Error("closed"));
    // Before the stream closes, events whose handling has just ended are acked.
    await setImmediate();
    this.#stream.end();
    const late = setTimeout(() => this.#stream.cancel(), CLOSE_WITHIN_MS);
    await this.#ended;
    clearTimeout(late);
  }

  async #run(): Promise<void> {
    const { core, log } = this.#options;
    const { signal } = this.#over;
    for (; ; this.#stream = core.follow()) {
      const { code, details } = await this.#followOnce().then(
        () => ({ code: status.OK, details: "core ended the stream" }),
        ({ code, details }: ServiceError) => ({ code, details: failureCause(details) }),
      );
      this.#isFollowing = false;
      if (signal.aborted) return;
      const isRefused = REFUSALS.includes(code);
      if (isRefused) {
        const why = `${details} (${status[code]})`;
        this.#refuse(new Error(`core rejects this game; check that CORE_TOKEN has the role game: ${why}`));
      }
      log[isRefused ? "error" : "warn"]({ code: status[code], details }, "not following, retrying");
      await pauseAfter(++this.#failures, signal);
      if (signal.aborted) return;
    }
  }

  /** Handles the messages of one stream until the stream ends. Rejects with a ServiceError when the stream fails. */
  async #followOnce(): Promise<void> {
    const { group, consumer, log } = this.#options;
    this.#say({ $case: "open", value: FollowOpen.create({ group, consumer, window: WINDOW }) });
    for await (const { say: told } of this.#stream as AsyncIterable<FollowResponse>) {
      if (told?.$case === "opened") {
        this.#isFollowing = true;
        this.#failures = 0;
        log.info({ group, consumer }, "following");
        this.#open();
      } else if (told?.$case === "delivery" && !this.#isPaused) {
        void this.#deliver(told.value);
      }
    }
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { handle, log } = this.#options;
    const { deliveryId } = delivery;
    const from = this.#stream;
    try {
      await handle(delivery);
    } catch (error) {
      // A redelivered event would fail in the same way and block later events, so the event is acked.
      log.error({ err: error, deliveryId }, "an event failed unexpectedly and is dropped");
    }
    // A delivery can be acked only on the stream that delivered it.
    if (from === this.#stream) this.#say({ $case: "ack", value: { deliveryIds: [deliveryId] } });
  }

  #say(value: NonNullable<FollowRequest["say"]>): void {
    if (this.#stream.writable) this.#stream.write({ say: value });
  }
}
