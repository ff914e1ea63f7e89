import type { Dispatcher } from "undici";
import type { PushAttempt } from "../ports/push-tracer";

/** How much of an answer is read: nothing is done with it. */
const ANSWER_MAX_BYTES = 16 * 1024;

/** What is known of a request while it is under way, and afterwards. */
export interface PushProgress {
  /** The status of the answer, once there is one. */
  status: number | undefined;
  /** Whether `withinMs` were over before the answer was there. */
  isLate: boolean;
}

/**
 * Sends the request of an attempt, once, and resolves when its answer was read,
 * up to a bound; rejects when it broke off or was not there `withinMs` after the
 * call, connecting included. Not sent again when a kept connection breaks: whether
 * the bridge had the request by then cannot be known, and what is tried again, and
 * when, is the retry table's.
 *
 * Straight to the dispatcher, as every push passes here: what `undici.request`
 * adds, streams and signals, costs as much again as the request.
 */
export function sendPush(
  dispatcher: Dispatcher,
  { url, signature, eventId, workspaceId, envelope }: PushAttempt,
  withinMs: number,
  progress: PushProgress,
): Promise<void> {
  const beganAt = performance.now();
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let bytes = 0;
    const timer = setTimeout(() => {
      progress.isLate = true;
      const error = new Error("the deadline is over");
      controller?.abort(error);
      reject(error);
    }, withinMs);
    dispatcher.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          "Service-Signature": signature,
          "Service-Event-Id": eventId,
          "Service-Workspace": workspaceId,
        },
        body: envelope,
      },
      {
        onRequestStart(started) {
          controller = started;
          // By the time: a process that was stopped wakes to connections before it wakes to timers.
          if (performance.now() - beganAt >= withinMs) progress.isLate = true;
          if (progress.isLate)
            started.abort(new Error("the deadline was over before there was a connection"));
        },
        onResponseStart(_controller, statusCode) {
          if (statusCode >= 200) progress.status = statusCode; // Else a word in between.
        },
        onResponseData(answering, chunk) {
          bytes += chunk.length;
          if (bytes <= ANSWER_MAX_BYTES) return;
          clearTimeout(timer);
          resolve();
          answering.abort(new Error("the answer is longer than is read")); // Ends the connection, too.
        },
        onResponseEnd() {
          clearTimeout(timer);
          resolve();
        },
        onResponseError(_controller, error) {
          clearTimeout(timer);
          reject(error);
        },
      },
    );
  });
}
