import { PUBLISH_BATCH_MAX, PUBLISH_SLICES } from "../../core/domain/bounds";
import type { OutboundEvent, PublishResult } from "../../proto/gen/chatbridge/v1/game";
import type { PublishCall } from "./publish-calls";

type Results = readonly PublishResult[];

export interface SharedCallsOptions {
  /** Makes one call, without retries. */
  once(events: readonly OutboundEvent[]): Promise<Results>;
  /** Publishes the events of one workspace in calls of their own, with retries. */
  alone(events: readonly OutboundEvent[], failed?: FailedCall): Promise<Results>;
}

/** A call with the events that has failed. */
export interface FailedCall {
  readonly error: unknown;
  /** Whether the call had events of several workspaces. */
  readonly isShared: boolean;
}

interface Entry extends PublishCall {
  resolve(results: Results | Promise<Results>): void;
}

/** Minimum milliseconds between two shared calls. At 1,000 events per second, this halves core's processor time. */
const EVERY_MS = 5;
/** Maximum milliseconds for which events wait for the shared calls in progress. */
const WAIT_MS = 20;

/**
 * Lets events of several workspaces share a call to core, because a call costs core about eight times as much as a
 * further event of a call. Events leave at once, if no shared call is in progress, and none left in the last 5 ms.
 * Otherwise they wait for this, but at most 20 ms, and then leave together.
 *
 * If a shared call fails, the events of each workspace are published in calls of their own. So no event can keep those
 * of another workspace from being published.
 */
export class SharedCalls {
  readonly #options: SharedCallsOptions;
  #waiting: Entry[] = [];
  #inProgress = 0;
  #leftAt = -Infinity;
  /** Cancels the next departure; undefined if none is planned. */
  #cancel: (() => void) | undefined;

  constructor(options: SharedCallsOptions) {
    this.#options = options;
  }

  /**
   * Publishes the events of one workspace. Rejects like `alone`. A call with more bytes than one slice is not shared,
   * because core takes longer for it.
   */
  publish(call: PublishCall): Promise<Results> {
    if (call.bytes > PUBLISH_SLICES.bytes) return this.#options.alone(call.events);
    return new Promise((resolve) => {
      this.#waiting.push({ ...call, resolve });
      if (this.#cancel === undefined) this.#plan();
    });
  }

  /** Plans the next departure. */
  #plan(): void {
    const everyMs = this.#leftAt + EVERY_MS - performance.now();
    const ms = this.#inProgress > 0 ? WAIT_MS : everyMs;
    if (ms > 0) {
      const timer = setTimeout(() => this.#leave(), ms);
      this.#cancel = () => clearTimeout(timer);
    } else {
      // All events of this turn of the event loop leave together.
      const immediate = setImmediate(() => this.#leave());
      this.#cancel = () => clearImmediate(immediate);
    }
  }

  #leave(): void {
    this.#cancel = undefined;
    this.#leftAt = performance.now();
    for (const entries of toCalls(this.#waiting.splice(0))) void this.#call(entries);
  }

  /** Makes one call with all events of the entries. */
  async #call(entries: readonly Entry[]): Promise<void> {
    const { once, alone } = this.#options;
    this.#inProgress += 1;
    try {
      const results = await once(entries.flatMap(({ events }) => events));
      let from = 0;
      for (const { events, resolve } of entries) resolve(results.slice(from, (from += events.length)));
    } catch (error) {
      const failed = { error, isShared: entries.length > 1 };
      for (const { events, resolve } of entries) resolve(alone(events, failed));
    }
    this.#inProgress -= 1;
    if (this.#inProgress > 0 || this.#waiting.length === 0) return;
    this.#cancel?.();
    this.#plan();
  }
}

/** Groups entries, in order, into calls with at most `PUBLISH_BATCH_MAX` events and the bytes of one slice. */
function toCalls(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const calls: Entry[][] = [];
  let [count, bytes] = [Infinity, 0];
  for (const entry of entries) {
    count += entry.events.length;
    bytes += entry.bytes;
    if (count > PUBLISH_BATCH_MAX || bytes > PUBLISH_SLICES.bytes) {
      calls.push([]);
      [count, bytes] = [entry.events.length, entry.bytes];
    }
    calls.at(-1)?.push(entry);
  }
  return calls;
}
