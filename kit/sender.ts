import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { backOffMs, REAL_TIMING, retryAfterMs, type Timing } from "./back-off";
import { readError } from "./error-body";
import { exchange, hooksUrl, isRetried, type Answer, type NoAnswer } from "./http-exchange";
import type { InboundEvent } from "./inbound-event";
import { sendable } from "./sendable";
import { secretsOfOne, type Secrets } from "./secrets";
import { sign, SIGNATURE_HEADER } from "./signature";

export interface SenderOptions {
  /** The service's base address, such as `https://games.example`. */
  readonly baseUrl: string;
  /** UUID of the workspace, from the dashboard. */
  readonly workspaceId: string;
  readonly secrets: Secrets;
  /** Timeout of an attempt, ms; 10,000 by default. */
  readonly timeoutMs?: number;
  /** Maximum number of attempts per event, 6 by default. */
  readonly attemptsMax?: number;
  /**
   * Time after the start of the first attempt within which a retry may start, ms; 60,000 by default. The default is
   * short, because a button press soon becomes useless.
   */
  readonly giveUpAfterMs?: number;
  /** Maximum number of pending events, 1000 by default. Further events are dropped immediately (`overloaded`). */
  readonly pendingMax?: number;
  readonly timing?: Timing;
}

export interface SendOptions {
  /** Aborts the current attempt and the retries. */
  readonly signal?: AbortSignal;
}

/** The outcome of sending an event. `id` is the request id, and `attempts` is the number of attempts. */
export type SendResult =
  /** The service stored the event. The games' answers arrive as outbound events. */
  | { readonly outcome: "accepted"; readonly id: string; readonly attempts: number }
  | RefusedEvent
  | GivenUpEvent;

/** The service rejected the event, and a retry would not help. */
export interface RefusedEvent {
  readonly outcome: "refused";
  readonly id: string;
  readonly attempts: number;
  /** HTTP status: 400, 401, 404, 409 or 413 (bridge guide, "Errors"), or any status that a proxy sent. */
  readonly status: number;
  /** Dotted path of the invalid field, if the service named one. */
  readonly field?: string;
  /** Human-readable text; not stable. */
  readonly message: string;
}

/** No attempt got a successful answer. The service may still have stored the event. */
export interface GivenUpEvent {
  readonly outcome: "given-up";
  readonly id: string;
  readonly attempts: number;
  /** Why the last attempt failed (`status` for a 429 or 5xx), or why there was no further attempt. */
  readonly reason: NoAnswer | "status" | "overloaded";
  /** Status of the last attempt, if it got an answer. */
  readonly status?: number;
  /** Human-readable reason why the last attempt got no answer, such as an unknown host; not stable. */
  readonly message?: string;
}

export interface Sender {
  /**
   * Sends an event. Retries only after a timeout, a failed connection, a `5xx` or a `429`, and never sooner than
   * `Retry-After` allows (bridge guide, "Retries"). A retry has the same bytes and request id, but a new signature. The
   * service therefore stores the event once. Several calls may run concurrently. Names and texts are cut to the
   * contract's limits, and made well-formed Unicode.
   *
   * Rejects only when the secrets are unavailable, never because of the service or the network.
   */
  send(event: InboundEvent, options?: SendOptions): Promise<SendResult>;
}

const BACK_OFF = { firstMs: 250, mostMs: 8_000 };
const ANSWER_MAX_BYTES = 64 * 1024;
const NEVER = new AbortController().signal;
// Each pending send listens.
setMaxListeners(0, NEVER);

/**
 * Makes a sender of inbound events for one workspace (`POST /hooks/{workspaceId}`).
 *
 * @throws TypeError when `baseUrl` is not an http(s) address
 * @throws RangeError when there is no secret, or when a secret is invalid
 */
export function createSender(options: SenderOptions): Sender {
  const { workspaceId, timeoutMs = 10_000, attemptsMax = 6, giveUpAfterMs = 60_000 } = options;
  const { pendingMax = 1000, timing = REAL_TIMING } = options;
  const url = hooksUrl(options.baseUrl, workspaceId);
  const secretsOf = secretsOfOne(options.secrets, workspaceId);
  let pending = 0;

  async function attempt(body: Uint8Array, signal: AbortSignal) {
    const headers = {
      "Content-Type": "application/json",
      [SIGNATURE_HEADER]: sign(body, await secretsOf(), timing.now()),
    };
    return exchange({
      url,
      method: "POST",
      headers,
      body,
      timeoutMs,
      answerMaxBytes: ANSWER_MAX_BYTES,
      signal,
    });
  }

  async function sendUntilKnown(id: string, body: Uint8Array, signal: AbortSignal): Promise<SendResult> {
    const giveUpAt = timing.now() + giveUpAfterMs;
    for (let attempts = 1; ; attempts++) {
      const answer = await attempt(body, signal);
      const isAnswer = "status" in answer;
      if (isAnswer && !isRetried(answer.status)) return { ...settled(answer), id, attempts };
      const how = isAnswer
        ? { reason: "status" as const, status: answer.status }
        : { reason: answer.failed, message: answer.why };
      const asked = isAnswer ? retryAfterMs(answer.headers.get("retry-after"), timing.now()) : 0;
      const waitMs = Math.max(asked, backOffMs(attempts, BACK_OFF, timing.random()));
      const isOver = attempts >= attemptsMax || timing.now() + waitMs > giveUpAt;
      if (isOver || how.reason === "aborted") return { outcome: "given-up", id, attempts, ...how };
      await timing.pause(waitMs, signal);
      if (signal.aborted) return { outcome: "given-up", id, attempts, ...how, reason: "aborted" };
    }
  }

  return {
    async send(event, { signal = NEVER } = {}) {
      const id = event.id ?? randomUUID();
      if (pending >= pendingMax) return { outcome: "given-up", id, attempts: 0, reason: "overloaded" };
      pending++;
      try {
        return await sendUntilKnown(id, Buffer.from(JSON.stringify({ ...sendable(event), id })), signal);
      } finally {
        pending--;
      }
    },
  };
}

/** Returns the outcome for a final answer, after which the event is not sent again. */
function settled({ status, body }: Answer): { outcome: "accepted" } | Omit<RefusedEvent, "id" | "attempts"> {
  return status === 202 ? { outcome: "accepted" } : { outcome: "refused", status, ...readError(body) };
}
