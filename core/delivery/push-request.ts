import type { PushAttempt } from "../ports/outside";
import type { AnswerListener, PushConnection } from "./push-connection";

/** The progress of an attempt. The caller can read the progress during and after the attempt. */
export interface PushProgress {
  /** The connection over which the request was sent; undefined before the request was sent. */
  connection: PushConnection | undefined;
  /** Whether the deadline passed before an answer arrived. */
  isLate: boolean;
}

/**
 * Sends the request of an attempt once. Resolves with the status of the answer when the head of the answer is
 * complete. Rejects when the connection breaks, or when that head is not complete within `withinMs`, including the
 * time to connect. When a reused connection breaks, `sendPush` does not send the request again, because the bridge may
 * have received the request. Only the contract's retry rules allow another attempt.
 */
export function sendPush(
  connect: (url: URL) => Promise<PushConnection>,
  attempt: PushAttempt,
  withinMs: number,
  progress: PushProgress,
  onSent: () => void = () => {},
): Promise<number> {
  const until = performance.now() + withinMs;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      progress.isLate = true;
      reject(new Error("the deadline has passed"));
      progress.connection?.destroy();
    }, withinMs);
    const answer: AnswerListener = {
      onStatus(status) {
        clearTimeout(timer);
        resolve(status);
      },
      onFailed(error) {
        clearTimeout(timer);
        reject(error);
      },
    };
    function send(connection: PushConnection): void {
      // After a pause of this process, `send` may be called before the overdue timer fires.
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

function requestBytes({ url, signature, eventId, workspaceId, envelope }: PushAttempt): Buffer {
  const head =
    `POST ${url.pathname}${url.search} HTTP/1.1\r\n` +
    `Host: ${url.host}\r\n` +
    "Connection: keep-alive\r\n" +
    "Content-Type: application/json\r\n" +
    `Content-Length: ${envelope.length}\r\n` +
    `Service-Signature: ${signature}\r\n` +
    `Service-Event-Id: ${eventId}\r\n` +
    `Service-Workspace: ${workspaceId}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(head.length + envelope.length);
  bytes.write(head, "latin1");
  bytes.set(envelope, head.length);
  return bytes;
}
