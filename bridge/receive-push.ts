import type { IncomingHttpHeaders } from "node:http";
import { REAL_TIMING, type Timing } from "./back-off";
import { errorBody } from "./error-body";
import { isExpired, type OutboundEvent } from "./events";
import { createLanes } from "./lanes";
import { errorOf, warn } from "./problem";
import { readEvent, readJson } from "./read-event";
import { createSeenIds } from "./seen-ids";
import { secretLookup, type Secrets } from "./secrets";
import { SIGNATURE_FAULT_WORDS, SIGNATURE_HEADER, verify, type SecretList } from "./signature";

export interface PushOptions {
  /** A function answers for several workspaces behind one target URL. */
  readonly secrets: Secrets;
  /**
   * Shows an event, after the push was answered: the service does not send it again when this rejects. Events
   * of one channel come one after another, those of different channels side by side. Bound its time: what
   * takes for ever takes a place in the queue for ever.
   */
  handle(event: OutboundEvent): Promise<void> | void;
  /** How many events may wait or be handled at once, 1000 by default; the next is answered `503` and comes again. */
  readonly queueMax?: number;
  /** How many event ids are remembered for 10 minutes, 100,000 by default; past it the oldest are forgotten. */
  readonly seenMax?: number;
  /** Told of what `handle` rejected and of what was left out. By default it is a warning of the process. */
  readonly report?: (problem: Error) => void;
  readonly timing?: Timing;
}

/** An answer to a push. */
export interface PushAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty on success, else an error body. */
  readonly body: string;
}

/** What pushes come to, whichever HTTP server took them. */
export interface PushReceiver {
  /**
   * Judges a push by its headers (names in lower case) and the exact bytes of its body, puts its event in the
   * queue, and says what to answer:
   * `204` taken, taken before, or of a type that is not known here; `400` no event, or headers that belong to
   * another; `401` and `409` as the contract has them for signatures; `404` no secret for the workspace;
   * `503` no room, no secrets to be had, or closing. Never rejects.
   */
  receive(headers: IncomingHttpHeaders, body: Uint8Array): Promise<PushAnswer>;
  /** How many events wait or are being handled. */
  readonly pending: number;
  /** Refuses pushes from now on, and resolves when those that were taken have been handled. */
  close(): Promise<void>;
}

/**
 * An event comes again for some seconds after its first attempt. Somebody who recorded a push can send it
 * again for as long as its timestamp is accepted: from 5 minutes before the local clock to 5 minutes after.
 */
const SEEN_FOR_MS = 10 * 60_000;
const TAKEN: PushAnswer = { status: 204, headers: {}, body: "" };

/** Makes a receiver that is not bound to an HTTP server; `createReceiver` binds one to Node's ("Outbound pushes"). */
export function createPushReceiver(options: PushOptions): PushReceiver {
  const { handle, report = warn, timing = REAL_TIMING } = options;
  const secretsOf = secretLookup(options.secrets);
  const lanes = createLanes(options.queueMax ?? 1000);
  const seen = createSeenIds({ forMs: SEEN_FOR_MS, most: options.seenMax ?? 100_000 });
  let isClosing = false;

  async function show(event: OutboundEvent): Promise<void> {
    if (isExpired(event, timing.now())) return;
    try {
      await handle(event);
    } catch (error) {
      report(errorOf(`${event.type} ${event.id} was not handled`, error));
    }
  }

  /** No step of it waits, so that two pushes of one event do not get in between. */
  function take(event: OutboundEvent): PushAnswer {
    if (isClosing) return refusal(503, "the bridge is stopping");
    const nowMs = timing.now();
    if (seen.has(event.id, nowMs)) return TAKEN;
    if (!lanes.offer(laneOf(event), () => show(event))) {
      return refusal(503, "the bridge has too many events in hand");
    }
    seen.add(event.id, nowMs);
    return TAKEN;
  }

  function judge(headers: IncomingHttpHeaders, body: Uint8Array, known: SecretList): PushAnswer {
    const header = headers[SIGNATURE_HEADER.toLowerCase()];
    const fault = verify(header?.toString(), body, known, timing.now());
    if (fault !== undefined) return refusal(fault === "stale" ? 409 : 401, SIGNATURE_FAULT_WORDS[fault]);
    const reading = readEvent(readJson(body));
    if ("fault" in reading) return refusal(400, reading.fault);
    const head = "event" in reading ? reading.event : reading.unknown;
    // The headers are not signed: what they say counts for nothing that the body does not say too.
    if (headers["service-workspace"] !== head.workspace) {
      return refusal(400, "Service-Workspace is not the workspace of the event");
    }
    if (headers["service-event-id"] !== head.id) {
      return refusal(400, "Service-Event-Id is not the id of the event");
    }
    if ("event" in reading) return take(reading.event);
    report(new Error(`an event was left out: its type is ${head.type}`));
    return TAKEN;
  }

  return {
    async receive(headers, body) {
      const workspaceId = String(headers["service-workspace"] ?? "");
      try {
        const known = await secretsOf(workspaceId);
        return known === undefined
          ? refusal(404, "this bridge has no secret for the workspace")
          : judge(headers, body, known);
      } catch (error) {
        report(errorOf(`the secrets of workspace ${workspaceId} were not to be had`, error));
        return refusal(503, "the bridge cannot check signatures now");
      }
    },
    get pending() {
      return lanes.size;
    },
    close() {
      isClosing = true;
      return lanes.idle();
    },
  };
}

/** Events of one conversation stay in order: of a channel, or of a member's DM. */
function laneOf(event: OutboundEvent): string {
  if (event.type === "ping") return event.workspace;
  return `${event.workspace} ${event.type === "dm.create" ? `dm:${event.user}` : event.channel}`;
}

/** An answer that is an error, in the shape of the contract's error bodies. */
export function refusal(status: number, message: string, more: Record<string, string> = {}): PushAnswer {
  const retry = status === 503 ? { "retry-after": "1" } : {};
  return {
    status,
    headers: { "content-type": "application/json", ...retry, ...more },
    body: errorBody(status, message),
  };
}
