import type { Duplex } from "node:stream";
import { createAnswer, type Answer } from "./push-answer";

/** How long an idle connection is kept where the bridge does not say how long it keeps it. */
const IDLE_MS = 4_000;
/** Where it does, the connection is closed this much earlier, so that a request does not cross the bridge's close. */
const KEEP_ALIVE_MARGIN_MS = 2_000;
const KEEP_ALIVE_MAX_MS = 60_000;

/** What a connection is made of: a TLS socket, except in tests. */
export type PushSocket = Duplex & { readonly remoteAddress?: string | undefined };

/** A connection to a bridge. It carries one request at a time. */
export interface PushConnection {
  readonly address: string | undefined;
  /** Whether it can carry a request: it is open, and the answer to the last request was read whole. */
  readonly isFree: boolean;
  /**
   * Sends a request, whose answer the listener receives.
   *
   * @param readUntil the `performance.now()` until which the body is read, so that the connection can be reused
   */
  send(request: Uint8Array, readUntil: number, listener: AnswerListener): void;
  destroy(): void;
}

/** Receives the answer to a request, by one of the two calls, once. */
export interface AnswerListener {
  /** A complete head has arrived. */
  onStatus(status: number): void;
  /** The connection broke before that, the answer is not HTTP/1.1, or the connection is not free. */
  onFailed(error: Error): void;
}

export interface ConnectionListener {
  /** Its attempt is over. It is free, or will be once the rest of the answer has been read. */
  onReleased(connection: PushConnection): void;
  onClosed(connection: PushConnection): void;
}

export function createPushConnection(
  socket: PushSocket,
  { onReleased, onClosed }: ConnectionListener,
): PushConnection {
  /** Of the request that was sent last, until it has been read. */
  let answer: Answer | undefined;
  /** Of that request, until its head is complete. */
  let waiting: AnswerListener | undefined;
  let isWritten = true;
  let bodyUntil = 0;
  let isClosed = false;
  /** The `performance.now()` at which the connection is closed, and that at which the timer looks. */
  let closeAt = Infinity;
  let lookAt = Infinity;
  let timer: NodeJS.Timeout | undefined;

  function close(error = new Error("the connection was given up")): void {
    if (isClosed) return;
    isClosed = true;
    clearTimeout(timer);
    socket.destroy();
    waiting?.onFailed(error);
    onClosed(connection);
  }
  /** One timer serves many requests: each moves the time, mostly to a later one, and the timer is set again when it fires. */
  function setCloseAt(at: number): void {
    closeAt = at;
    if (at >= lookAt) return;
    lookAt = at;
    clearTimeout(timer);
    timer = setTimeout(look, Math.ceil(at - performance.now()));
  }
  function look(): void {
    if (performance.now() >= closeAt) return close();
    lookAt = Infinity;
    if (closeAt < Infinity) setCloseAt(closeAt);
  }

  function onData(bytes: Buffer): void {
    // No request is under way: these bytes must not become the answer to the next one.
    if (answer === undefined) return close();
    try {
      answer.read(bytes);
    } catch (error) {
      return close(error as Error);
    }
    const { state, status } = answer;
    if (state === "head") return;
    const isFirst = waiting !== undefined;
    waiting?.onStatus(status);
    waiting = undefined;
    if (state === "spent") return close();
    if (isFirst) {
      setCloseAt(bodyUntil);
      onReleased(connection);
    }
    freeIfDone();
  }
  function onWritten(): void {
    isWritten = true;
    freeIfDone();
  }
  /** An answer may be complete before its request has been sent: the next request then waits for both. */
  function freeIfDone(): void {
    if (isClosed || !isWritten || answer?.state !== "ended") return;
    const idleMs = idleMsOf(answer.keepAliveMs);
    answer = undefined;
    if (idleMs > 0) setCloseAt(performance.now() + idleMs);
    else close();
  }
  const onEnd = (): void => close(new Error("the bridge closed the connection"));
  socket.on("data", onData).on("end", onEnd).on("close", onEnd).on("error", close);

  const connection: PushConnection = {
    address: socket.remoteAddress,
    get isFree() {
      return !isClosed && answer === undefined;
    },
    send(request, readUntil, listener) {
      if (!connection.isFree) return listener.onFailed(new Error("the connection is not free"));
      closeAt = Infinity;
      waiting = listener;
      answer = createAnswer();
      bodyUntil = readUntil;
      isWritten = false;
      socket.write(request, onWritten);
    },
    destroy: () => close(),
  };
  return connection;
}

function idleMsOf(keepAliveMs: number | undefined): number {
  return keepAliveMs === undefined
    ? IDLE_MS
    : Math.min(keepAliveMs - KEEP_ALIVE_MARGIN_MS, KEEP_ALIVE_MAX_MS);
}
