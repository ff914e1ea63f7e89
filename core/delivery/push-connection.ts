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
   * Sends a request. Resolves with the status as soon as a complete head has
   * arrived. Rejects when the connection breaks before that, or the answer is
   * not HTTP/1.1, or the connection is not free.
   *
   * @param readUntil the `performance.now()` until which the body is read, so that the connection can be reused
   */
  send(request: Uint8Array, readUntil: number): Promise<number>;
  destroy(): void;
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
  /** Settle the promise of that request, until its head is complete. */
  let waiting: { resolve(status: number): void; reject(error: Error): void } | undefined;
  let isWritten = true;
  let bodyUntil = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function close(error = new Error("the connection was given up")): void {
    if (isClosed) return;
    isClosed = true;
    clearTimeout(timer);
    socket.destroy();
    waiting?.reject(error);
    onClosed(connection);
  }
  function closeIn(ms: number): void {
    clearTimeout(timer);
    timer = setTimeout(() => close(), ms);
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
    waiting?.resolve(status);
    waiting = undefined;
    if (state === "spent") return close();
    if (isFirst) {
      closeIn(bodyUntil - performance.now());
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
    if (idleMs > 0) closeIn(idleMs);
    else close();
  }
  const onEnd = (): void => close(new Error("the bridge closed the connection"));
  socket.on("data", onData).on("end", onEnd).on("close", onEnd).on("error", close);

  const connection: PushConnection = {
    address: socket.remoteAddress,
    get isFree() {
      return !isClosed && answer === undefined;
    },
    send(request, readUntil) {
      return new Promise((resolve, reject) => {
        if (!connection.isFree) return reject(new Error("the connection is not free"));
        clearTimeout(timer);
        waiting = { resolve, reject };
        answer = createAnswer();
        bodyUntil = readUntil;
        isWritten = false;
        socket.write(request, onWritten);
      });
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
