import { setImmediate } from "node:timers/promises";
import { status, type ClientDuplexStream, type ServiceError } from "@grpc/grpc-js";
import {
  FollowOpen,
  GameServiceClient,
  type FollowRequest,
  type FollowResponse,
  type OutboundEvent,
  type PublishResult,
} from "../../proto/gen/chatbridge/v1/game";
import { bearer, createGrpcClient, failureCause } from "../../runtime/core-channel";
import type { CoreConnection } from "../../runtime/core-connection";
import { CoreCredentials } from "../../runtime/core-credentials";
import { backOffMs, REAL_TIMING } from "../back-off";
import { LinkClosed, type CoreLink, type FollowListener } from "./core-link";
import { BACK_OFF, REJECTIONS, rejection } from "./grpc-failures";
import { GrpcPublisher } from "./grpc-publisher";
import type { GameLog } from "./log";

export interface GrpcLinkOptions extends CoreConnection {
  readonly group: string;
  readonly consumer: string;
  readonly log: GameLog;
  /** Maximum number of unacked events, 1 to 1,000. The default is 100. */
  readonly window?: number;
  /** Milliseconds after which core redelivers an event if this process is suspended; 1 second to 10 minutes. */
  readonly ackDeadlineMs?: number;
}

type Stream = ClientDuplexStream<FollowRequest, FollowResponse>;

const WINDOW = 100;
const ACK_DEADLINE_MS = 30_000;
const CLOSE_WITHIN_MS = 1_000;
const CHANNEL = {
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 5_000,
  // A stream without events is silent, so only pings detect a core that stopped without closing the connection.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
};

/**
 * Connects a game to core over gRPC. Opens a new stream whenever a stream ends:
 *
 *     open ─▶ opened ─▶ shards and deliveries ─▶ ended
 *      ▲                                           │
 *      └──────────────── back off ◀────────────────┘
 *
 * Extends the ack deadline of all unacked deliveries of the current stream while this process runs. So core redelivers
 * an event only if the stream ends, the process is suspended, or the game works on the event for 10 minutes.
 */
export class GrpcLink implements CoreLink {
  /**
   * Resolves when the first stream is open. Rejects with `CoreRejects` if core rejects the game first, and with
   * `LinkClosed` if `close` is called first.
   */
  readonly opened: Promise<void>;
  readonly #options: GrpcLinkOptions;
  /** The token, which can change while the game runs, and the certificates. */
  readonly #credentials: CoreCredentials;
  readonly #client: GameServiceClient;
  readonly #publisher: GrpcPublisher;
  readonly #over = new AbortController();
  /** Unacked deliveries of the current stream, with their shards. A nack or a dead letter also removes a delivery. */
  readonly #unacked = new Map<string, number>();
  #stream: Stream | undefined;
  #open = (): void => undefined;
  #reject = (_reason: Error): void => undefined;
  #isFollowing = false;
  #isPaused = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(options: GrpcLinkOptions) {
    this.#options = options;
    this.#credentials = new CoreCredentials(options, options.log);
    this.#client = createGrpcClient(GameServiceClient, options.address, this.#credentials.tls, CHANNEL);
    const { signal } = this.#over;
    const parts = { client: this.#client, credentials: this.#credentials, log: options.log, signal };
    this.#publisher = new GrpcPublisher(parts);
    this.opened = new Promise((resolve, reject) => {
      this.#open = resolve;
      this.#reject = reject;
    });
    // The link retries even if nobody waits for the first stream.
    this.opened.catch(() => undefined);
  }

  /** Events that core has refused, by reason. */
  get refusals(): ReadonlyMap<string, number> {
    return this.#publisher.refusals;
  }

  /** True while a stream is open. */
  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  follow(listener: FollowListener): void {
    if (this.#stream !== undefined || this.#over.signal.aborted) throw new Error("the link follows already");
    this.#ended = this.#run(listener);
  }

  ack(deliveryIds: readonly string[]): void {
    const ids = this.#settle(deliveryIds);
    if (ids.length > 0) this.#say({ $case: "ack", value: { deliveryIds: ids } });
  }

  extend(deliveryIds: readonly string[]): void {
    const ids = deliveryIds.filter((id) => this.#unacked.has(id));
    if (ids.length > 0) this.#say({ $case: "extend", value: { deliveryIds: ids } });
  }

  nack(deliveryIds: readonly string[], delayMs: number): void {
    const ids = this.#settle(deliveryIds);
    const wholeMs = Math.ceil(delayMs);
    const delay = { seconds: Math.floor(wholeMs / 1_000), nanos: (wholeMs % 1_000) * 1_000_000 };
    if (ids.length > 0) this.#say({ $case: "nack", value: { deliveryIds: ids, delay } });
  }

  deadLetter(deliveryId: string, reason: string): void {
    const [id] = this.#settle([deliveryId]);
    if (id !== undefined) this.#say({ $case: "deadLetter", value: { deliveryId: id, reason } });
  }

  publish(events: readonly OutboundEvent[]): Promise<readonly PublishResult[]> {
    return this.#publisher.publish(events);
  }

  pause(): void {
    this.#isPaused = true;
  }

  async close(): Promise<void> {
    // Events whose handlers have just finished are acked before the stream ends.
    await setImmediate();
    this.#over.abort();
    this.#reject(new LinkClosed());
    if (this.#isFollowing) this.#stream?.end();
    else this.#stream?.cancel();
    const late = setTimeout(() => this.#stream?.cancel(), CLOSE_WITHIN_MS);
    await this.#ended;
    clearTimeout(late);
    this.#client.close();
    this.#credentials.close();
  }

  async #run(listener: FollowListener): Promise<void> {
    const { signal } = this.#over;
    for (let failures = 1; ; failures++) {
      const { token } = this.#credentials;
      const stream = this.#client.follow(bearer(token));
      this.#stream = stream;
      const beganAt = performance.now();
      stream.once("metadata", () => this.#credentials.accepted(token));
      const { code, details } = await this.#followOnce(stream, listener).then(
        () => ({ code: status.OK, details: "core ended the stream" }),
        (error: ServiceError) => ({
          code: error.code ?? status.UNKNOWN,
          details: failureCause(error.details ?? error.message),
        }),
      );
      this.#unacked.clear();
      // The delay grows only while streams end early.
      if (this.#isFollowing && performance.now() - beganAt > BACK_OFF.mostMs) failures = 1;
      if (this.#isFollowing) {
        this.#isFollowing = false;
        listener.ended();
      }
      if (signal.aborted) return;
      const hasOther = code === status.UNAUTHENTICATED && (await this.#credentials.refused(token));
      this.#report(code, details, hasOther);
      // Two processes with the same name replace each other's streams. A long delay makes this rare.
      const plain = backOffMs(failures, BACK_OFF, REAL_TIMING.random());
      await REAL_TIMING.pause(code === status.ABORTED ? Math.max(plain, BACK_OFF.mostMs) : plain, signal);
      if (signal.aborted) return;
    }
  }

  /** @param hasOther whether core may accept another token */
  #report(code: status, details: string, hasOther: boolean): void {
    const { log, consumer } = this.#options;
    const fields = { code: status[code], details };
    if (hasOther) {
      log.warn(fields, "not following, retrying with another token");
    } else if (REJECTIONS.includes(code)) {
      this.#reject(rejection(code, details));
      log.error(fields, "not following, retrying: core rejects the game");
    } else if (code === status.ABORTED) {
      const advice =
        "not following, retrying: another process follows with this name; give each process its own FOLLOW_CONSUMER";
      log.warn({ ...fields, consumer }, advice);
    } else {
      log.warn(fields, "not following, retrying");
    }
  }

  /**
   * Passes the messages of one stream to the listener until the stream ends. Rejects with a `ServiceError` when the
   * stream fails.
   */
  async #followOnce(stream: Stream, listener: FollowListener): Promise<void> {
    const { group, consumer, log, window = WINDOW, ackDeadlineMs = ACK_DEADLINE_MS } = this.#options;
    const ackDeadline = {
      seconds: Math.floor(ackDeadlineMs / 1_000),
      nanos: (ackDeadlineMs % 1_000) * 1_000_000,
    };
    const open = FollowOpen.create({ group, consumer, window, ackDeadline, assignments: true });
    this.#say({ $case: "open", value: open });
    const extending = setInterval(() => this.extend([...this.#unacked.keys()]), ackDeadlineMs / 3);
    try {
      for await (const { say: told } of stream as AsyncIterable<FollowResponse>) {
        if (told?.$case === "opened") {
          this.#isFollowing = true;
          log.info({ group, consumer }, "following");
          listener.opened(told.value);
          this.#open();
        } else if (told?.$case === "assignment") {
          const { gained, lost } = told.value;
          for (const [id, shard] of this.#unacked) if (lost.includes(shard)) this.#unacked.delete(id);
          if (lost.length > 0) listener.lost(lost);
          if (gained.length > 0) listener.gained(gained);
        } else if (told?.$case === "delivery" && !this.#isPaused) {
          this.#unacked.set(told.value.deliveryId, told.value.shard);
          listener.delivered(told.value);
        }
      }
    } finally {
      clearInterval(extending);
    }
  }

  /** Forgets deliveries, and returns those of the current stream. */
  #settle(deliveryIds: readonly string[]): string[] {
    return deliveryIds.filter((id) => this.#unacked.delete(id));
  }

  #say(value: NonNullable<FollowRequest["say"]>): void {
    if (this.#stream?.writable === true) this.#stream.write({ say: value });
  }
}
