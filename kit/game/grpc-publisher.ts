import { setMaxListeners } from "node:events";
import { status, type ServiceError } from "@grpc/grpc-js";
import {
  PublishRefusal,
  type GameServiceClient,
  type OutboundEvent,
  type PublishResult,
} from "../../proto/gen/chatbridge/v1/game";
import { bearer, failureCause } from "../../runtime/core-channel";
import type { CoreCredentials } from "../../runtime/core-credentials";
import { backOffMs, REAL_TIMING } from "../back-off";
import { CoreRejects, LinkClosed } from "./core-link";
import { BACK_OFF, REJECTIONS, rejection } from "./grpc-failures";
import type { GameLog } from "./log";
import { isLarge, publishCalls } from "./publish-calls";
import { SharedCalls } from "./shared-calls";

export interface GrpcPublisherParts {
  readonly client: GameServiceClient;
  readonly credentials: CoreCredentials;
  readonly log: GameLog;
  /** Aborted when the link is closed. */
  readonly signal: AbortSignal;
}

const PUBLISH_WITHIN_MS = 10_000;
/** A shared call has a shorter time limit, because a slow workspace delays the events of the others in the call. */
const SHARED_WITHIN_MS = 1_000;
/** Statuses with which core rejects only the one call. */
const CALL_REJECTIONS: readonly status[] = [status.INVALID_ARGUMENT, status.RESOURCE_EXHAUSTED];
/** Statuses of a publish call that core would return for every call. */
const FINAL: readonly status[] = [...REJECTIONS, status.UNIMPLEMENTED];

/** Publishes events with calls of `PublishEvents`, and retries while core is unavailable. */
export class GrpcPublisher {
  readonly #parts: GrpcPublisherParts;
  readonly #calls = new SharedCalls({
    share: (events) => this.#share(events),
    alone: (events) => this.#publish(events),
  });
  readonly #refusals = new Map<string, number>();

  constructor(parts: GrpcPublisherParts) {
    this.#parts = parts;
    // Each call in progress listens to the signal, and any number of calls can be in progress.
    setMaxListeners(0, parts.signal);
  }

  /** Events that core has refused, by reason. */
  get refusals(): ReadonlyMap<string, number> {
    return this.#refusals;
  }

  /**
   * Publishes events of one workspace, in order. Resolves to the result of each event. Rejects with `LinkClosed` when
   * the link is closed, and with `CoreRejects` if core rejects the game or a call.
   */
  async publish(events: readonly OutboundEvent[]): Promise<readonly PublishResult[]> {
    const results: PublishResult[] = [];
    for (const call of publishCalls(events)) results.push(...(await this.#calls.publish(call)));
    for (const { outcome } of results) if (outcome?.$case === "refused") this.#count(outcome.value.reason);
    return results;
  }

  #count(reason: PublishRefusal): void {
    const name = (PublishRefusal[reason] ?? String(reason)).toLowerCase();
    this.#refusals.set(name, (this.#refusals.get(name) ?? 0) + 1);
  }

  /** Makes one call with the events of several workspaces. Rejects if the call fails. */
  async #share(events: readonly OutboundEvent[]): Promise<readonly PublishResult[]> {
    try {
      return await this.#once(events, SHARED_WITHIN_MS);
    } catch (error) {
      const { code, details } = error as ServiceError;
      const fields = { code: status[code], details: failureCause(details ?? ""), events: events.length };
      if (!this.#parts.signal.aborted)
        this.#parts.log.warn(fields, "a shared call failed, publishing for each workspace");
      throw error;
    }
  }

  /** Publishes the events of one call. Retries while core is unavailable. */
  async #publish(events: readonly OutboundEvent[]): Promise<readonly PublishResult[]> {
    const { signal } = this.#parts;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await this.#once(events, PUBLISH_WITHIN_MS);
      } catch (error) {
        const { code, details } = error as ServiceError;
        const cause = failureCause(details ?? "");
        if (signal.aborted) break;
        if (code === status.RESOURCE_EXHAUSTED && events.length > 1) {
          // The call is too large for core, or for a proxy in front of core.
          const half = Math.ceil(events.length / 2);
          return [
            ...(await this.#publish(events.slice(0, half))),
            ...(await this.#publish(events.slice(half))),
          ];
        }
        // Here, the call contains only the large event: the other events are published in separate calls.
        if (code === status.RESOURCE_EXHAUSTED && events.some(isLarge)) return [tooLarge(cause)];
        if (CALL_REJECTIONS.includes(code)) {
          throw new CoreRejects(`core rejects a call: ${cause} (${status[code]})`, "call");
        }
        if (FINAL.includes(code)) throw rejection(code, cause);
        const fields = { code: status[code], details: cause, events: events.length };
        this.#parts.log.warn(fields, "publishing failed, retrying");
        await REAL_TIMING.pause(backOffMs(failures, BACK_OFF, REAL_TIMING.random()), signal);
      }
    }
    throw new LinkClosed();
  }

  /**
   * Makes one call, and repeats it only with another token. Rejects with a `ServiceError` if the call fails, or when the
   * link is closed.
   */
  async #once(events: readonly OutboundEvent[], withinMs: number): Promise<readonly PublishResult[]> {
    for (;;) {
      if (this.#parts.signal.aborted) throw new LinkClosed();
      const { token } = this.#parts.credentials;
      try {
        const results = await this.#call(events, token, withinMs);
        this.#parts.credentials.accepted(token);
        return results;
      } catch (error) {
        const isRefused = (error as ServiceError).code === status.UNAUTHENTICATED;
        if (!isRefused || !(await this.#parts.credentials.refused(token))) throw error;
      }
    }
  }

  #call(
    events: readonly OutboundEvent[],
    token: string,
    withinMs: number,
  ): Promise<readonly PublishResult[]> {
    const { signal } = this.#parts;
    return new Promise((resolve, reject) => {
      const call = this.#parts.client.publishEvents(
        { events: [...events] },
        bearer(token),
        { deadline: Date.now() + withinMs },
        (error, response) => {
          signal.removeEventListener("abort", cancel);
          if (error === null) resolve(response.results);
          else reject(error);
        },
      );
      const cancel = (): void => call.cancel();
      signal.addEventListener("abort", cancel);
    });
  }
}

function tooLarge(details: string): PublishResult {
  const message = `the event is too large: ${details}`;
  const value = { reason: PublishRefusal.INVALID, field: "", message };
  return { outcome: { $case: "refused", value } };
}
