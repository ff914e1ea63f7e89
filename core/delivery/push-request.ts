import type { ResponseStart } from "../domain/delivery";
import type { PushAttempt } from "../ports/outside";
import type { AnswerListener, PushConnection } from "./push-connection";

/** The progress of an attempt. The caller can read the progress during and after the attempt. */
export interface PushProgress {
  /** The connection over which the request is sent; undefined until then. */
  connection: PushConnection | undefined;
  /** Whether the deadline passed, or the attempt was aborted, before an answer arrived. */
  isLate: boolean;
}

/** The answer to the request of a push attempt. */
export interface PushAnswer {
  readonly status: number;
  /** The `performance.now()` time at which the head was complete. */
  readonly at: number;
  /** The start of the body; undefined for a 2xx answer, and for an answer without a body. */
  readonly response: ResponseStart | undefined;
}

/**
 * Maximum milliseconds for which an attempt waits, after the head, for the start of the body. The log shows this start.
 */
export const BODY_WITHIN_MS = 250;

/**
 * Sends the request of a push attempt once. Resolves when the head of the answer is complete. If the status is not 2xx,
 * then waits up to `BODY_WITHIN_MS` for the start of the body. Rejects when the connection breaks, when the attempt is
 * aborted, or when the head is not complete within `withinMs`, which includes the time to connect. When a reused
 * connection breaks, `sendPush` does not send the request again, because the bridge may have received the request. Only
 * the contract's retry rules allow another attempt.
 */
export function sendPush(
  connect: (url: URL) => Promise<PushConnection>,
  attempt: PushAttempt,
  withinMs: number,
  progress: PushProgress,
  onSent: () => void = () => {},
): Promise<PushAnswer> {
  const until = performance.now() + withinMs;
  return new Promise((resolve, reject) => {
    const end = (): void => {
      progress.isLate = true;
      reject(new Error("the deadline has passed"));
      progress.connection?.destroy();
    };
    const timer = setTimeout(end, withinMs);
    attempt.signal?.addEventListener("abort", end, { once: true });
    // `end` must not run after the attempt, because it would close a connection that another attempt may be using.
    const stopWaiting = (): void => {
      clearTimeout(timer);
      attempt.signal?.removeEventListener("abort", end);
    };
    let onBody = (_isOver: boolean): void => {};
    const answer: AnswerListener = {
      onStatus(status, body) {
        stopWaiting();
        const at = performance.now();
        if (body === undefined) return resolve({ status, at, response: undefined });
        const end = (isOver: boolean): void => resolve({ status, at, response: body.read(isOver) });
        const bodyTimer = setTimeout(() => end(false), BODY_WITHIN_MS);
        onBody = (isOver) => {
          clearTimeout(bodyTimer);
          end(isOver);
        };
      },
      onBody: (isOver) => onBody(isOver),
      onFailed(error) {
        stopWaiting();
        reject(error);
      },
    };
    function send(connection: PushConnection): void {
      // If this process was paused, `send` may be called before the overdue timer fires.
      if (performance.now() >= until) progress.isLate = true;
      if (progress.isLate) {
        connection.destroy();
        throw new Error("the deadline passed before there was a connection");
      }
      progress.connection = connection;
      connection.send(requestBytes(attempt), until, answer);
      onSent();
    }
    connect(attempt.url).then(send).catch(answer.onFailed);
  });
}

function requestBytes(attempt: PushAttempt): Buffer {
  const { url, signature, eventId, workspaceId, envelope, traceparent } = attempt;
  const head =
    `POST ${url.pathname}${url.search} HTTP/1.1\r\n` +
    `Host: ${url.host}\r\n` +
    "Connection: keep-alive\r\n" +
    "Content-Type: application/json\r\n" +
    `Content-Length: ${envelope.length}\r\n` +
    `Service-Signature: ${signature}\r\n` +
    `Service-Event-Id: ${eventId}\r\n` +
    `Service-Workspace: ${workspaceId}\r\n` +
    (traceparent === undefined ? "\r\n" : `traceparent: ${traceparent}\r\n\r\n`);
  const bytes = Buffer.allocUnsafe(head.length + envelope.length);
  bytes.write(head, "latin1");
  bytes.set(envelope, head.length);
  return bytes;
}
