import type { Duplex } from "node:stream";
import type { BodyStart } from "./body-start";
import { createAnswer, type Answer } from "./push-answer";

/** Milliseconds for which core keeps an idle connection if the bridge states no limit. */
const IDLE_MS = 4_000;
/**
 * Core closes an idle connection this many milliseconds before the bridge's stated limit. So core sends no request
 * while the bridge closes the connection.
 */
const KEEP_ALIVE_MARGIN_MS = 2_000;
/** Maximum milliseconds for which core keeps an idle connection. */
const KEEP_ALIVE_MAX_MS = 60_000;

/** A TLS socket, except in tests. */
export type PushSocket = Duplex & { readonly remoteAddress?: string | undefined };

/** A connection to a bridge. It carries one request at a time. */
export interface PushConnection {
  readonly address: string | undefined;
  /** Whether the connection is open and the last answer was read completely, so that a request can be sent. */
  readonly isFree: boolean;
  /**
   * Sends a request. The listener receives the answer.
   *
   * @param readUntil the `performance.now()` at which core stops reading the body. The connection is reused
   * only if the body is complete by then
   */
  send(request: Uint8Array, readUntil: number, listener: AnswerListener): void;
  destroy(): void;
}

/** Receives the answer to a request. Exactly one of `onStatus` and `onFailed` is called, once. */
export interface AnswerListener {
  /**
   * Called when a complete head has arrived.
   *
   * @param body the start of the body, which grows until `onBody` is called; undefined for a 2xx answer
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
   * Called when the attempt is over. The connection is free, or becomes free when the rest of the answer has
   * been read.
   */
  onReleased(connection: PushConnection): void;
  onClosed(connection: PushConnection): void;
}

export function createPushConnection(
  socket: PushSocket,
  { onReleased, onClosed }: ConnectionListener,
): PushConnection {
  /** The answer to the current request; undefined when the answer has been read completely. */
  let answer: Answer | undefined;
  /** The listener of the current request; undefined when the listener has been called. */
  let waiting: AnswerListener | undefined;
  /** The listener of the current request, between `onStatus` and `onBody`. */
  let readingBody: AnswerListener | undefined;
  let isWritten = true;
  let bodyUntil = 0;
  let isClosed = false;
  /** The `performance.now()` at which the connection must be closed. */
  let closeAt = Infinity;
  /** The `performance.now()` at which the timer fires. */
  let lookAt = Infinity;
  let timer: NodeJS.Timeout | undefined;

  function close(error?: Error): void {
    if (isClosed) return;
    isClosed = true;
    clearTimeout(timer);
    socket.destroy();
    waiting?.onFailed(error ?? new Error("core closed the connection"));
    endBody(error !== undefined);
    onClosed(connection);
  }
  function endBody(isOver: boolean): void {
    readingBody?.onBody(isOver);
    readingBody = undefined;
  }
  /**
   * Sets `closeAt`. If the current timer fires before `at`, which is usual, this timer stays unchanged. When the
   * timer fires, `look` sets a new timer.
   */
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
    // These bytes arrived while no request was in progress. Core must not mistake them for the answer to the next
    // request.
    if (answer === undefined) return close();
    try {
      answer.read(bytes);
    } catch (error) {
      return close(error as Error);
    }
    const { state, status, bodyStart } = answer;
    if (state === "head") return;
    const isFirst = waiting !== undefined;
    waiting?.onStatus(status, bodyStart);
    if (bodyStart !== undefined) readingBody ??= waiting;
    waiting = undefined;
    if (state !== "body" || bodyStart?.isTruncated) endBody(true);
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
  /** Frees the connection when the request has been written and the answer has been read. Either can happen first. */
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
