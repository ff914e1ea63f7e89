import type { Duplex } from "node:stream";
import type { BodyStart } from "./answer-body";
import { createAnswer, type Answer } from "./push-answer";

/** Milliseconds for which core keeps an idle connection if the bridge states no limit. */
const IDLE_MS = 4_000;
/**
 * Core closes an idle connection this many milliseconds before the bridge's stated limit. So core does not send a
 * request while the bridge is closing the connection.
 */
const KEEP_ALIVE_MARGIN_MS = 2_000;
/** Maximum milliseconds for which core keeps an idle connection. */
const KEEP_ALIVE_MAX_MS = 60_000;

/** A TLS socket, except in tests. */
export type PushSocket = Duplex & { readonly remoteAddress?: string | undefined };

/** Receives the answer to a request. Exactly one of `onStatus` and `onFailed` is called, once. */
export interface AnswerListener {
  /**
   * Called when a complete head has arrived.
   *
   * @param body the collected start of the body. More bytes are added until `onBody` is called. Undefined for a 2xx
   * answer
   */
  onStatus(status: number, body: BodyStart | undefined): void;
  /**
   * Called once after `onStatus`, when no more bytes of the start of the body can arrive; never called for a 2xx answer.
   *
   * @param isOver whether the bridge has ended the body; false when core closed the connection
   */
  onBody(isOver: boolean): void;
  /**
   * Called in one of three cases: the connection was closed before a complete head arrived, the head is invalid,
   * or the connection was not free.
   */
  onFailed(error: Error): void;
}

export interface ConnectionListener {
  /**
   * Called when the attempt has ended. The connection is then free, or becomes free when the rest of the answer has
   * been read.
   */
  onReleased(connection: PushConnection): void;
  onClosed(connection: PushConnection): void;
}

type State = "free" | "sending" | "reading" | "closed";

/** The allowed transitions. */
const NEXT: Readonly<Record<State, readonly State[]>> = {
  free: ["sending", "closed"],
  sending: ["reading", "closed"],
  reading: ["free", "closed"],
  closed: [],
};

/**
 * A connection to a bridge, which carries one request at a time.
 *
 *           send                a complete head
 *   free ───────────▶ sending ─────────────────▶ reading
 *    ▲                                              │ the request is written, and the answer read to its end
 *    └──────────────────────────────────────────────┘
 *
 * Each state can end in `closed`: after an error, after an answer that allows no further request, or after a timeout.
 */
export class PushConnection {
  readonly address: string | undefined;
  readonly #socket: PushSocket;
  readonly #owner: ConnectionListener;
  #state: State = "free";
  /** The answer to the current request; undefined while the connection is free. */
  #answer: Answer | undefined;
  /** The listener of the current request; undefined when all its methods have been called. */
  #listener: AnswerListener | undefined;
  #isWritten = true;
  #bodyUntil = 0;
  /** The `performance.now()` time at which the connection must be closed. */
  #closeAt = Infinity;
  /** The `performance.now()` time at which the timer fires. */
  #lookAt = Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: PushSocket, owner: ConnectionListener) {
    this.address = socket.remoteAddress;
    this.#socket = socket;
    this.#owner = owner;
    const onEnd = (): void => this.#close(new Error("the bridge closed the connection"));
    socket.on("data", (bytes: Buffer) => this.#read(bytes));
    socket.on("error", (error) => this.#close(error));
    socket.on("end", onEnd).on("close", onEnd);
  }

  /** Whether a request can be sent: the connection is open, and the last answer was read completely. */
  get isFree(): boolean {
    return this.#state === "free";
  }

  /**
   * Sends a request. The listener receives the answer.
   *
   * @param readUntil the `performance.now()` time at which core stops reading the body. The connection is reused
   * only if the body is complete by then
   */
  send(request: Uint8Array, readUntil: number, listener: AnswerListener): void {
    if (!this.isFree) return listener.onFailed(new Error("the connection is not free"));
    this.#enter("sending");
    this.#closeAt = Infinity;
    this.#listener = listener;
    this.#answer = createAnswer();
    this.#bodyUntil = readUntil;
    this.#isWritten = false;
    this.#socket.write(request, this.#onWritten);
  }

  destroy(): void {
    this.#close();
  }

  #enter(next: State): void {
    if (!NEXT[this.#state].includes(next)) {
      throw new Error(`a connection to a bridge cannot go from ${this.#state} to ${next}`);
    }
    this.#state = next;
  }

  readonly #onWritten = (): void => {
    this.#isWritten = true;
    this.#freeIfDone();
  };

  #read(bytes: Buffer): void {
    if (this.#state === "closed") return;
    // These bytes arrived while no request was in progress. Core must not mistake them for the answer to the next
    // request.
    if (this.#answer === undefined) return this.#close();
    try {
      this.#answer.read(bytes);
    } catch (error) {
      return this.#close(error as Error);
    }
    const { state, status, bodyStart } = this.#answer;
    if (state === "head") return;
    const isHead = this.#state === "sending";
    if (isHead) {
      this.#enter("reading");
      this.#listener?.onStatus(status, bodyStart);
      if (bodyStart === undefined) this.#listener = undefined;
    }
    if (state !== "body" || bodyStart?.isTruncated) this.#endBody(true);
    if (state === "spent") return this.#close();
    if (isHead) {
      this.#setCloseAt(this.#bodyUntil);
      this.#owner.onReleased(this);
    }
    this.#freeIfDone();
  }

  #endBody(isOver: boolean): void {
    this.#listener?.onBody(isOver);
    this.#listener = undefined;
  }

  /** Frees the connection when the request has been written and the answer has been read. Either can happen first. */
  #freeIfDone(): void {
    if (this.#state !== "reading" || !this.#isWritten || this.#answer?.state !== "ended") return;
    const idleMs = idleMsOf(this.#answer.keepAliveMs);
    this.#answer = undefined;
    this.#enter("free");
    if (idleMs > 0) this.#setCloseAt(performance.now() + idleMs);
    else this.#close();
  }

  #close(error?: Error): void {
    if (this.#state === "closed") return;
    const before = this.#state;
    this.#enter("closed");
    clearTimeout(this.#timer);
    this.#socket.destroy();
    if (before === "sending") this.#listener?.onFailed(error ?? new Error("core closed the connection"));
    else this.#endBody(error !== undefined);
    this.#owner.onClosed(this);
  }

  /**
   * Sets `#closeAt`. If the current timer fires before `at` (the usual case), the timer stays unchanged. `#look` sets a
   * new timer when the current timer fires.
   */
  #setCloseAt(at: number): void {
    this.#closeAt = at;
    if (at >= this.#lookAt) return;
    this.#lookAt = at;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#look(), Math.ceil(at - performance.now()));
  }

  #look(): void {
    if (performance.now() >= this.#closeAt) return this.#close();
    this.#lookAt = Infinity;
    if (this.#closeAt < Infinity) this.#setCloseAt(this.#closeAt);
  }
}

function idleMsOf(keepAliveMs: number | undefined): number {
  return keepAliveMs === undefined
    ? IDLE_MS
    : Math.min(keepAliveMs - KEEP_ALIVE_MARGIN_MS, KEEP_ALIVE_MAX_MS);
}
