import type { ClientDuplexStream, ServiceError } from "@grpc/grpc-js";
import {
  LaneFault,
  type LaneAnswer,
  type LaneCall,
  type LaneRequest,
  type LaneResponse,
} from "../../proto/gen/chatbridge/v1/bridge";
import { CoreUnavailable } from "./core-unavailable";
import type { LaneFailure, LaneLoad } from "./lane-load";
import { PendingCalls } from "./pending-calls";

export type LaneStream = ClientDuplexStream<LaneRequest, LaneResponse>;
export type Call = NonNullable<LaneCall["call"]>;
export type Answer = Exclude<NonNullable<LaneAnswer["answer"]>, { $case: "fault" }>;

export interface LaneContext {
  /** Opens a stream to the core that the load balancing of the gRPC channel selects. */
  open(): LaneStream;
  readonly load: LaneLoad;
  /** Is called when core accepts a stream. */
  onAccepted(): void;
  /** Is called when a stream fails. */
  onError(error: ServiceError): void;
  /** Is called when a call has ended. */
  onEnded(owners: CallOwners, bytes: number): void;
  /** Is called when the core at the other end of the lane announces its stop. */
  onClosing(lane: Lane): void;
}

/** The workspace and the address whose shares include a call. */
export interface CallOwners {
  readonly workspace: string;
  readonly address: string;
}

type State =
  | { readonly is: "idle" | "closed" }
  | { readonly is: "opening" | "open" | "retired"; readonly stream: LaneStream }
  /** `until` is a value of `performance.now()`. */
  | { readonly is: "resting"; readonly until: number };

const NEXT: Readonly<Record<State["is"], readonly State["is"][]>> = {
  idle: ["opening"],
  opening: ["open", "resting", "retired"],
  open: ["resting", "retired"],
  resting: ["opening", "closed"],
  retired: ["closed"],
  closed: [],
};

/** A call without an answer. */
export interface PendingCall {
  /** `bytes` count toward the shares of `owners` until the call has ended. */
  readonly owners: CallOwners;
  readonly bytes: number;
  /** A value of `performance.now()`. */
  readonly deadline: number;
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

export interface UnsentCall {
  readonly pending: PendingCall;
  readonly call: Call;
  readonly traceparent: string;
}

const REOPEN_MIN_MS = 50;
const REOPEN_MAX_MS = 1_000;

/**
 * A slot for one stream to core at a time, with the calls that the stream carries. The states of a lane:
 *
 *         a call               core accepts the stream
 *   idle ────────▶ opening ──────────────────────────────▶ open
 *                   ▲   │                                    │
 *  a call after     │   │ the stream ends: the pending       │
 *  the pause        │   ▼ calls are rejected                 │
 *                  resting ◀─────────────────────────────────┤
 *                     │                                      │ another lane has replaced this lane
 *                     ▼                                      ▼ (also in the states opening and resting)
 *                   closed ◀────────────────────────────── retired
 *                           the pending calls are answered,
 *                           or the stream ends
 *
 * The pause grows with each failure. A retired or closed lane gets no new calls.
 */
export class Lane {
  readonly #context: LaneContext;
  #state: State = { is: "idle" };
  /** Number of streams that have ended since core last answered a call on this lane. */
  #failures = 0;
  /** The unanswered calls, in the order of their deadlines. */
  readonly #pending = new PendingCalls<PendingCall>();

  constructor(context: LaneContext) {
    this.#context = context;
  }

  get isOpen(): boolean {
    return this.#state.is === "open";
  }

  get hasStream(): boolean {
    return "stream" in this.#state;
  }

  /** Whether the lane has a stream or may open one. */
  isUsable(now: number): boolean {
    return this.#state.is !== "resting" || this.#state.until <= now;
  }

  /**
   * Sends calls to core in one message, and opens a stream if necessary. A call without an answer is rejected with
   * `CoreUnavailable`. Callers must pass the calls in the order of their deadlines.
   */
  send(calls: readonly UnsentCall[]): void {
    const numbered = calls.map(({ pending, call, traceparent }) => ({
      number: this.#pending.add(pending),
      call,
      traceparent,
    }));
    this.#openStream().write({ calls: numbered });
  }

  /** Opens a stream if necessary. Returns whether core has accepted the stream. */
  async connect(): Promise<boolean> {
    if (this.isOpen) return true;
    const stream = this.#openStream();
    return new Promise((resolve) => {
      stream.once("metadata", () => resolve(true));
      whenOver(stream, () => resolve(false));
    });
  }

  /** Retires the lane. Resolves when the lane is closed. */
  async retire(): Promise<void> {
    if (!("stream" in this.#state)) return this.#enter({ is: "closed" });
    const { stream } = this.#state;
    this.#enter({ is: "retired", stream });
    if (this.#pending.size === 0) stream.end();
    return new Promise((resolve) => whenOver(stream, resolve));
  }

  rejectOverdue(now: number): void {
    while ((this.#pending.oldest?.deadline ?? Infinity) <= now) {
      this.#fail(this.#pending.takeOldest(), "late", new CoreUnavailable("no answer in time"));
    }
  }

  /** Ends the stream, and rejects the pending calls. */
  close(): void {
    if ("stream" in this.#state) this.#break(this.#state.stream);
    else this.#rejectAll("the edge is stopping");
  }

  #enter(next: State): void {
    if (!NEXT[this.#state.is].includes(next.is)) {
      throw new Error(`a lane cannot go from ${this.#state.is} to ${next.is}`);
    }
    this.#state = next;
  }

  #openStream(): LaneStream {
    if ("stream" in this.#state) return this.#state.stream;
    const { open, load, onAccepted, onError, onClosing } = this.#context;
    const stream = open();
    this.#enter({ is: "opening", stream });
    load.open += 1;
    load.opened += 1;
    stream.on("data", ({ answers, closing }: LaneResponse) => {
      this.#failures = 0;
      for (const { number, answer } of answers) this.#receive(number, answer);
      if (closing) onClosing(this);
    });
    stream.on("metadata", () => {
      if (this.#state.is === "opening" && this.#state.stream === stream) this.#enter({ is: "open", stream });
      onAccepted();
    });
    stream.on("error", onError);
    whenOver(stream, () => this.#break(stream));
    return stream;
  }

  #receive(number: number, answer: LaneAnswer["answer"]): void {
    const call = this.#pending.take(number);
    if (call === undefined) return; // The answer is too late.
    if (answer === undefined) this.#fail(call, "core-fault", new Error("core sent an empty answer"));
    else if (answer.$case !== "fault") {
      this.#end(call);
      call.resolve(answer);
    } else if (answer.value === LaneFault.UNAVAILABLE)
      this.#fail(call, "store-away", new CoreUnavailable("core cannot reach its store"));
    else this.#fail(call, "core-fault", new Error("core answered with a fault"));
  }

  #fail(call: PendingCall | undefined, failure: LaneFailure, error: Error): void {
    if (call === undefined) return;
    this.#context.load.failures[failure] += 1;
    this.#end(call);
    call.reject(error);
  }

  /** Releases a call that is no longer pending. */
  #end({ owners, bytes }: PendingCall): void {
    this.#context.onEnded(owners, bytes);
    if (this.#state.is === "retired" && this.#pending.size === 0) this.#state.stream.end();
  }

  #break(stream: LaneStream): void {
    if (!("stream" in this.#state) || this.#state.stream !== stream) return;
    const pauseMs = Math.min(REOPEN_MAX_MS, REOPEN_MIN_MS * 2 ** this.#failures);
    const isRetired = this.#state.is === "retired";
    this.#enter(isRetired ? { is: "closed" } : { is: "resting", until: performance.now() + pauseMs });
    this.#failures += 1;
    this.#context.load.open -= 1;
    stream.cancel();
    this.#rejectAll("the connection to core broke");
  }

  #rejectAll(why: string): void {
    while (this.#pending.size > 0) this.#fail(this.#pending.takeOldest(), "broken", new CoreUnavailable(why));
  }
}

/**
 * Calls `listener` when the stream has failed, ended or closed. `listener` can be called up to three times. Core or a
 * proxy can also end a stream without an error.
 */
function whenOver(stream: LaneStream, listener: () => void): void {
  for (const event of ["error", "end", "close"]) stream.once(event, listener);
}
