import { REAL_TIMING, type Timing } from "./back-off";
import { HELD_SECONDS } from "../contract/numbers";
import { errorBody } from "./error-body";
import { isExpired, type OutboundEvent } from "./events";
import { errorOf, warn } from "./problem";
import { readPush, type PushBody, type PushHeaders, type PushRequest } from "./push-request";
import { readEvent, readJson, type EventReading } from "./read-event";
import { createSeenIds } from "./seen-ids";
import { secretLookup, type Secrets } from "./secrets";
import { createSerialQueues, queueOf } from "./serial-queues";
import { explainFault, SIGNATURE_HEADER, verify, type SecretList } from "./signature";

export interface PushOptions {
  /** Signing secrets. If several workspaces share one target URL, pass a function that looks up their secrets. */
  readonly secrets: Secrets;
  /**
   * Stores the event of each push before the push is answered. Without `store`, accepted events are kept only in
   * memory, so a crash loses the events that are not yet handled. After a restart, handle the stored events yourself.
   */
  readonly store?: AcceptedStore;
  /**
   * Shows an event. Called after the event is accepted, so the service does not retry an event that `handle` rejects.
   * Events of one channel are handled one after the other, and events of different channels concurrently. `handle` must
   * have a timeout: a call that never settles occupies its place in the queue forever.
   */
  handle(event: OutboundEvent): Promise<void> | void;
  /** Maximum number of events that wait or are being handled; 1000 by default. Further pushes get a `503`. */
  readonly queueMax?: number;
  /**
   * Maximum number of seen event ids; 100,000 by default. Each id is kept for 24 hours, or until a new id replaces it.
   */
  readonly seenMax?: number;
  /**
   * Called for each event that has an unknown type, for each event that `store` or `handle` rejects, and when `secrets`
   * fails. The default emits a process warning.
   */
  readonly report?: (problem: Error) => void;
  readonly timing?: Timing;
}

/** A store for accepted events that are not yet handled. Each call to the store must have a timeout. */
export interface AcceptedStore {
  /**
   * Resolves once the event would survive a crash. The push is answered with `204` once `add` has resolved, and with
   * `503` if `add` rejects. `add` is not called for an event that is already being stored or was accepted before.
   */
  add(event: OutboundEvent): Promise<void>;
  /** Called when `handle` has resolved, or when the event has expired in the queue. Not called if `handle` rejects. */
  remove(eventId: string): Promise<void> | void;
}

/** An answer to a push. */
export interface PushAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty on success, otherwise an error body. */
  readonly body: string;
}

/** Receives pushes independently of the HTTP server. */
export interface PushReceiver {
  /**
   * Checks a push, stores and queues its event, and resolves to the answer. `body` must be the exact bytes that were
   * received. If an API gateway passes the body in base64, decode it first. Never rejects. Statuses:
   * - `204`: the event was accepted, is a repeat, or has an unknown type.
   * - `400`: the body is not an event, or the headers belong to another event.
   * - `401`, `409`: the signature is invalid (401) or stale (409), as in the contract.
   * - `404`: there is no secret for the workspace.
   * - `500`: `headers` or `body` has the wrong type, e.g. because a parser has changed the body. The error message says
   *   what to pass instead.
   * - `503`: the queue is full, the event cannot be stored, the secrets are unavailable, or the receiver is closing.
   */
  receive(headers: PushHeaders, body: PushBody): Promise<PushAnswer>;
  /** Number of events that wait or are being handled. */
  readonly pending: number;
  /** Answers further pushes with `503`, and resolves when all accepted events have been handled. */
  close(): Promise<void>;
}

/**
 * Milliseconds for which the id of an event is kept. The service retries an event for only a few seconds. However, an
 * operator can resend a failed event for 24 hours, even if the bridge has already shown it.
 */
const SEEN_FOR_MS = HELD_SECONDS * 1_000;
const TAKEN: PushAnswer = { status: 204, headers: {}, body: "" };

/**
 * Makes a receiver for any HTTP server (bridge guide, "Receive pushes"). `createReceiver` makes a receiver for Node's
 * server.
 */
export function createPushReceiver(options: PushOptions): PushReceiver {
  const { store, handle, report = warn, timing = REAL_TIMING } = options;
  const secretsOf = secretLookup(options.secrets);
  const queues = createSerialQueues(options.queueMax ?? 1000);
  const seen = createSeenIds({ forMs: SEEN_FOR_MS, most: options.seenMax ?? 100_000 });
  /** Pending answers to pushes whose events are being stored, keyed by event id. */
  const storing = new Map<string, Promise<PushAnswer>>();
  let isClosing = false;

  /** Handles an event. If `handle` rejects, the event stays in the store. */
  async function show(event: OutboundEvent): Promise<void> {
    try {
      if (!isExpired(event, timing.now())) await handle(event);
    } catch (error) {
      return report(errorOf(`${event.type} ${event.id} was not handled`, error));
    }
    try {
      await store?.remove(event.id);
    } catch (error) {
      report(errorOf(`${event.type} ${event.id} was handled, but not removed from the store`, error));
    }
  }

  async function keep(event: OutboundEvent): Promise<PushAnswer> {
    try {
      await store?.add(event);
    } catch (error) {
      report(errorOf(`${event.type} ${event.id} was not stored`, error));
      return refusal(503, "the bridge cannot store the event now");
    }
    seen.add(event.id, timing.now());
    return TAKEN;
  }

  /**
   * Queues and stores an event. The queue must get the event before the first `await`. Otherwise, two concurrent pushes
   * of one event could both be queued, and the events of a channel could lose their order.
   */
  function take(event: OutboundEvent): PushAnswer | Promise<PushAnswer> {
    if (isClosing) return refusal(503, "the bridge is stopping");
    if (seen.has(event.id, timing.now())) return TAKEN;
    const first = storing.get(event.id);
    if (first !== undefined) return first;
    const isQueued = queues.offer(queueOf(event), async () => {
      if ((await answer) === TAKEN) await show(event);
    });
    if (!isQueued) return refusal(503, "the bridge has too many pending events");
    const answer = keep(event).finally(() => storing.delete(event.id));
    storing.set(event.id, answer);
    return answer;
  }

  return {
    async receive(headers, body) {
      const push = readPush(headers, body);
      if ("fault" in push) return refusal(500, push.fault);
      const workspaceId = push.headers["service-workspace"] ?? "";
      try {
        const known = await secretsOf(workspaceId);
        if (known === undefined) return refusal(404, "this bridge has no secret for the workspace");
        const judged = judge(push, known, timing.now());
        if ("answer" in judged) return judged.answer;
        if ("event" in judged) return await take(judged.event);
        report(new Error(`an event was skipped: its type ${judged.unknown.type} is unknown`));
        return TAKEN;
      } catch (error) {
        report(errorOf(`cannot get the secrets of workspace ${workspaceId}`, error));
        return refusal(503, "the bridge cannot check signatures now");
      }
    },
    get pending() {
      return queues.size;
    },
    close() {
      isClosing = true;
      return queues.idle();
    },
  };
}

/** Returns the event of a push, or an error answer if the push is faulty. */
function judge(
  { headers, body }: PushRequest,
  known: SecretList,
  nowMs: number,
): { readonly answer: PushAnswer } | Exclude<EventReading, { fault: string }> {
  const signature = headers[SIGNATURE_HEADER.toLowerCase()];
  const fault = verify(signature, body, known, nowMs);
  if (fault !== undefined) {
    return { answer: refusal(fault === "stale" ? 409 : 401, explainFault(fault, signature, nowMs)) };
  }
  const reading = readEvent(readJson(body));
  if ("fault" in reading) return { answer: refusal(400, reading.fault) };
  const head = "event" in reading ? reading.event : reading.unknown;
  // These two headers are not signed, so they are compared with the signed body.
  if (headers["service-workspace"] !== head.workspace) {
    return { answer: refusal(400, "the Service-Workspace header does not match the workspace of the event") };
  }
  if (headers["service-event-id"] !== head.id) {
    return { answer: refusal(400, "the Service-Event-Id header does not match the id of the event") };
  }
  return reading;
}

/** Returns an error answer, with an error body in the format that the contract defines. */
export function refusal(status: number, message: string, more: Record<string, string> = {}): PushAnswer {
  const retry = status === 503 ? { "retry-after": "1" } : {};
  return {
    status,
    headers: { "content-type": "application/json", ...retry, ...more },
    body: errorBody(status, message),
  };
}
