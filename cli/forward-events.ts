import { setMaxListeners } from "node:events";
import { REAL_TIMING } from "../kit/back-off";
import { excerpt, type HttpClient, type Reply } from "../kit/check/http-client";
import { isExpired, type EventPage, type OutboundEvent } from "../kit/events";
import { createSerialQueues, queueOf } from "../kit/serial-queues";
import { sign, SIGNATURE_HEADER } from "../kit/signature";
import { isPushRetried } from "../contract/messages";
import { RETRY_OFFSETS_MS } from "../contract/numbers";

/** The result of an attempt to forward an event, or an event that expired before an attempt. */
export interface Forwarded {
  /** Time at which the attempt ended or the event was skipped, ISO 8601, UTC. */
  readonly at: string;
  readonly eventType: string;
  readonly eventId: string;
  /** Number of the attempt, starting at 1; 0 for an event that expired before its first attempt. */
  readonly attempt: number;
  /** `failed`: a further attempt follows. `dropped`: no further attempt follows. */
  readonly result: "success" | "failed" | "dropped" | "expired";
  /** HTTP status of the bridge's answer; 0 when there was no answer. */
  readonly status: number;
  readonly latencyMs: number;
  /** The reason for a failure, if known, e.g. the beginning of the bridge's answer; otherwise empty. */
  readonly detail: string;
}

export interface ForwardOptions {
  readonly target: URL;
  /** HTTP client for the origin of `target`, with the time limit of a push. */
  readonly client: HttpClient;
  /** Signing secrets, newest first. */
  readonly secrets: readonly string[];
  /** When this signal is aborted, pending attempts are aborted, and no further attempts start. */
  readonly signal: AbortSignal;
  /** Called after each attempt, and for each skipped event. */
  show(forwarded: Forwarded): void;
}

/** Maximum number of events in progress, including events that are being retried. Further events wait. */
const IN_PROGRESS_MAX = 64;

/**
 * Forwards events as pushes (bridge guide, "Receive pushes"). The first attempts of a channel's events
 * are made in order. As in the service, a retry does not delay the first attempts of later events.
 */
export function createForwarder({ target, client, secrets, signal, show }: ForwardOptions) {
  // Each event uses at most two queues: its channel's queue for the first attempt, and then a queue for the event's
  // retries.
  const queues = createSerialQueues(2 * IN_PROGRESS_MAX);
  // Each event in progress listens to the signal. By default, Node warns about more than 10 listeners.
  setMaxListeners(0, signal);

  /** Makes attempt `number`. Returns whether another attempt is due. */
  async function attempt(event: OutboundEvent, number: number): Promise<boolean> {
    if (signal.aborted) return false;
    const shown = (attempts: number, rest: Pick<Forwarded, "result" | "status" | "latencyMs" | "detail">) =>
      show({
        at: new Date().toISOString(),
        eventType: event.type,
        eventId: event.id,
        attempt: attempts,
        ...rest,
      });
    if (isExpired(event, Date.now())) {
      shown(number - 1, { result: "expired", status: 0, latencyMs: 0, detail: "" });
      return false;
    }
    const reply = await push(event);
    const isUnanswered = "failed" in reply;
    if (isUnanswered && signal.aborted) return false;
    const status = isUnanswered ? 0 : reply.status;
    const isAccepted = status >= 200 && status <= 299;
    const isAgain = !isAccepted && number <= RETRY_OFFSETS_MS.length && isPushRetried(event);
    const result = isAccepted ? "success" : isAgain ? "failed" : "dropped";
    shown(number, { result, status, latencyMs: reply.ms, detail: isAccepted ? "" : reasonOf(reply) });
    return isAgain;
  }

  function push(event: OutboundEvent): Promise<Reply> {
    // The service serializes events in the same way, so these are the bytes that the service would push.
    const body = Buffer.from(JSON.stringify(event));
    const headers = {
      "Content-Type": "application/json",
      [SIGNATURE_HEADER]: sign(body, secrets),
      "Service-Event-Id": event.id,
      "Service-Workspace": event.workspace,
    };
    return client.call({ method: "POST", path: target.pathname + target.search, headers, body, signal });
  }

  /** Retries an event whose first attempt has just failed. */
  async function retry(event: OutboundEvent): Promise<void> {
    const failedAt = performance.now();
    for (const [retries, offsetMs] of RETRY_OFFSETS_MS.entries()) {
      await REAL_TIMING.pause(Math.max(0, failedAt + offsetMs - performance.now()), signal);
      if (!(await attempt(event, retries + 2))) return;
    }
  }

  return {
    /** Starts forwarding the events of a page. Waits while too many earlier events are in progress. */
    async forward({ events }: EventPage): Promise<void> {
      for (const event of events) {
        if (queues.size >= IN_PROGRESS_MAX) await queues.idle();
        queues.offer(queueOf(event), async () => {
          if (await attempt(event, 1)) queues.offer(`retries of ${event.id}`, () => retry(event));
        });
      }
    },
    /** Resolves when no events are in progress. */
    idle: () => queues.idle(),
  };
}

function reasonOf(reply: Reply): string {
  if ("failed" in reply) return reply.failed;
  const { location } = reply.headers;
  return location === undefined ? excerpt(reply.body) : `redirects are not followed: ${location}`;
}
