import { PUBLISH_BATCH_MAX, PUBLISH_SLICES } from "../../core/domain/bounds";
import type { OutboundEvent, PublishResult } from "../../proto/gen/chatbridge/v1/game";
import type { PublishCall } from "./publish-calls";

type Results = readonly PublishResult[];

export interface SharedCallsOptions {
  /** Makes one call with the events of several workspaces, without retries. */
  share(events: readonly OutboundEvent[]): Promise<Results>;
  /** Publishes the events of one workspace in a separate call, with retries. */
  alone(events: readonly OutboundEvent[]): Promise<Results>;
}

interface Entry extends PublishCall {
  resolve(results: Results | Promise<Results>): void;
}

/**
 * Minimum milliseconds between two times at which waiting events are sent (departures). At 1,000 events per second,
 * this interval halves core's processor time.
 */
const EVERY_MS = 5;
/** Maximum milliseconds for which events wait until earlier calls have ended. */
const WAIT_MS = 20;
/**
 * Milliseconds for which no call is shared after a shared call has failed, e.g. because one of several Redis servers
 * does not answer. In this time, each workspace on that server begins a separate call, and no longer delays other
 * workspaces.
 */
const APART_MS = 10_000;

/**
 * Lets events of several workspaces share a call to core, because one more call costs core about eight times as much as
 * one more event in a call. Events are sent at once if no events were sent in the last 5 ms, and the calls that were
 * sent last have ended. Otherwise, events wait until then, but at most until 20 ms after the last departure. Waiting
 * events are sent together (a departure).
 *
 * If a shared call fails, the events of each workspace are published in separate calls, and so are all events of the
 * next 10 seconds. So no event can prevent the publication of another workspace's events.
 */
export class SharedCalls {
  readonly #options: SharedCallsOptions;
  #waiting: Entry[] = [];
  /** The time at which events were last sent, and the number of those calls that have not ended. */
  #last = { atMs: -Infinity, open: 0 };
  #apartUntilMs = -Infinity;
  /** Cancels the planned departure of the waiting events; undefined if none is planned. */
  #cancel: (() => void) | undefined;

  constructor(options: SharedCallsOptions) {
    this.#options = options;
  }

  /**
   * Publishes the events of one workspace. Rejects like `alone`. A call with more bytes than one slice is not shared,
   * because core takes longer for it.
   */
  publish(call: PublishCall): Promise<Results> {
    const isApart = performance.now() < this.#apartUntilMs;
    if (isApart || call.bytes > PUBLISH_SLICES.bytes) return this.#options.alone(call.events);
    return new Promise((resolve) => {
      this.#waiting.push({ ...call, resolve });
      if (this.#cancel === undefined) this.#plan();
    });
  }

  /** Plans the next departure. */
  #plan(): void {
    const { atMs, open } = this.#last;
    const ms = atMs + (open > 0 ? WAIT_MS : EVERY_MS) - performance.now();
    if (ms > 0) {
      const timer = setTimeout(() => this.#leave(), ms);
      this.#cancel = () => clearTimeout(timer);
    } else {
      // All events of this turn of the event loop are sent together.
      const immediate = setImmediate(() => this.#leave());
      this.#cancel = () => clearImmediate(immediate);
    }
  }

  #leave(): void {
    this.#cancel = undefined;
    const calls = toCalls(this.#waiting.splice(0));
    const departure = { atMs: performance.now(), open: calls.length };
    this.#last = departure;
    for (const entries of calls) void this.#depart(departure, entries);
  }

  async #depart(departure: { open: number }, entries: readonly Entry[]): Promise<void> {
    await this.#call(entries);
    departure.open -= 1;
    if (departure !== this.#last || departure.open > 0 || this.#waiting.length === 0) return;
    this.#cancel?.();
    this.#plan();
  }

  /** Publishes the events of entries. Resolves when the call has ended. */
  async #call(entries: readonly Entry[]): Promise<void> {
    const { share, alone } = this.#options;
    const [first] = entries;
    if (first !== undefined && entries.length === 1) {
      const publishing = alone(first.events);
      first.resolve(publishing);
      await publishing.catch(() => undefined);
      return;
    }
    const shared = entries.flatMap(({ events }) => events);
    const results = await share(shared).catch(() => undefined);
    if (results?.length === shared.length) {
      let from = 0;
      for (const { events, resolve } of entries) resolve(results.slice(from, (from += events.length)));
    } else {
      this.#apartUntilMs = performance.now() + APART_MS;
      for (const { events, resolve } of entries) resolve(alone(events));
    }
  }
}

/**
 * Groups entries, in order, into calls. A call has at most `PUBLISH_BATCH_MAX` events and `PUBLISH_SLICES.bytes` bytes.
 */
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
