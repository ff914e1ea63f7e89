import { randomUUID } from "node:crypto";
import { backOffMs, REAL_TIMING, retryAfterMs, type Timing } from "./back-off";
import { readError } from "./error-body";
import { exchange, hooksUrl, isRetried, type Answer, type NoAnswer } from "./http-exchange";
import type { InboundEvent } from "./inbound-event";
import { secretsOfOne, type Secrets } from "./secrets";
import { sign, SIGNATURE_HEADER } from "./signature";

export interface SenderOptions {
  /** The service's base address, such as `https://games.example`. */
  readonly baseUrl: string;
  /** UUID of the workspace, from the dashboard. */
  readonly workspaceId: string;
  readonly secrets: Secrets;
  /** How long an attempt may take, 10 seconds by default. */
  readonly timeoutMs?: number;
  /** How many attempts an event gets, 6 by default. */
  readonly attemptsMax?: number;
  /** No attempt begins later than this after the first, one minute by default: an old press is worth nothing. */
  readonly giveUpAfterMs?: number;
  /** How many events may be under way, 1000 by default; one more is given up at once as `overloaded`. */
  readonly pendingMax?: number;
  readonly timing?: Timing;
}

export interface SendOptions {
  /** Ends the attempt and the retries. */
  readonly signal?: AbortSignal;
}

/** What became of an event. `id` is the request id it was sent under, `attempts` how many there were. */
export type SendResult =
  /** The service has it; what it causes comes as outbound events. */
  | { readonly outcome: "accepted"; readonly id: string; readonly attempts: number }
  | RefusedEvent
  | GivenUpEvent;

/** The service will not have it, and sending it again would not help. */
export interface RefusedEvent {
  readonly outcome: "refused";
  readonly id: string;
  readonly attempts: number;
  /** 400, 401, 404, 409, 413 as in the contract's "Errors", or another that a proxy answered. */
  readonly status: number;
  /** The field at fault, dotted, where the service named one. */
  readonly field?: string;
  /** For people; not stable. */
  readonly message: string;
}

/** It was not accepted as far as is known; the service may have it all the same. */
export interface GivenUpEvent {
  readonly outcome: "given-up";
  readonly id: string;
  readonly attempts: number;
  /** How the last attempt went (`status`: a 429 or 5xx), or why there is no further one. */
  readonly reason: NoAnswer | "status" | "overloaded";
  /** Of the last answer, where there was one. */
  readonly status?: number;
}

export interface Sender {
  /**
   * Sends an event, and again after a time-out, a dropped connection, a `5xx` or a `429` (after its
   * `Retry-After`): the same bytes under the same request id, signed anew, so that the service takes it once.
   * No other answer is retried ("Idempotency"). Sends may run side by side.
   *
   * Rejects only when the secrets cannot be had, never for what the service or the network does.
   */
  send(event: InboundEvent, options?: SendOptions): Promise<SendResult>;
}

const BACK_OFF = { firstMs: 250, mostMs: 8_000 };
const ANSWER_MAX_BYTES = 64 * 1024;
const NEVER = new AbortController().signal;

/**
 * Makes a sender of inbound events for one workspace (`POST /hooks/{workspaceId}`).
 *
 * @throws TypeError when `baseUrl` is no http(s) address, RangeError when there is no secret
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
      const how = isAnswer ? { reason: "status" as const, status: answer.status } : { reason: answer.failed };
      const asked = isAnswer ? retryAfterMs(answer.headers.get("retry-after")) : 0;
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
        return await sendUntilKnown(id, Buffer.from(JSON.stringify({ ...event, id })), signal);
      } finally {
        pending--;
      }
    },
  };
}

/** What an answer that is not retried says. */
function settled({ status, body }: Answer): { outcome: "accepted" } | Omit<RefusedEvent, "id" | "attempts"> {
  return status === 202 ? { outcome: "accepted" } : { outcome: "refused", status, ...readError(body) };
}
