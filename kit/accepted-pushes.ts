import type { CatchUp } from "./catch-up";
import type { OutboundEvent } from "./events";
import { errorOf } from "./problem";
import type { PushStore } from "./push-store";
import { openEventIds, type BridgeState } from "./reduce-state";
import { queueOf } from "./serial-queues";

/** Maximum total size of the events, in bytes of JSON. */
export const ACCEPTED_MAX_BYTES = 16 * 1024 * 1024;

/**
 * The events of accepted pushes that the bridge has not yet shown or dropped. Their size is bounded.
 *
 *     add ──▶ passOn ──▶ the reducer shows or drops the event ──▶ removeDone
 *     load ─▶ resume ──▲
 */
export class AcceptedPushes {
  readonly #store: PushStore | undefined;
  readonly #report: (problem: Error) => void;
  /** Size of each accepted event in bytes, by the event's id. */
  readonly #sizes = new Map<string, number>();
  readonly #passedOn = new Set<string>();
  readonly #removals = new Set<Promise<void>>();
  /** For each channel and DM: a promise that resolves when its last loaded event is passed on. */
  readonly #resuming = new Map<string, Promise<void>>();
  #unfinished: readonly OutboundEvent[] = [];
  #bytes = 0;

  /** Without `store`, no events are kept across restarts. `report` is called for each removal that fails. */
  constructor(store: PushStore | undefined, report: (problem: Error) => void) {
    this.#store = store;
    this.#report = report;
  }

  /** Loads the events that an earlier run accepted, but did not show or drop. Called once, before all other methods. */
  async load(): Promise<void> {
    this.#unfinished = (await this.#store?.load()) ?? [];
    for (const event of this.#unfinished) this.#note(event.id, sizeOf(event));
  }

  /**
   * Passes the loaded events on, in the order in which they were accepted. A full channel delays only its own events.
   * Resolves when all loaded events are passed on, or when `catchUp` is closed. In the latter case, the remaining
   * events stay stored for the next run.
   */
  async resume(catchUp: CatchUp): Promise<void> {
    const byQueue = new Map<string, OutboundEvent[]>();
    for (const event of this.#unfinished) {
      const queue = queueOf(event);
      const events = byQueue.get(queue) ?? [];
      events.push(event);
      byQueue.set(queue, events);
    }
    for (const [queue, events] of byQueue) {
      const passed = this.#passAll(events, catchUp).finally(() => this.#resuming.delete(queue));
      this.#resuming.set(queue, passed);
    }
    this.#unfinished = [];
    await Promise.all(this.#resuming.values());
  }

  async #passAll(events: readonly OutboundEvent[], catchUp: CatchUp): Promise<void> {
    try {
      for (const event of events) {
        await catchUp.handleEvent(event);
        this.passOn(event.id, catchUp.state);
      }
    } catch {
      // `handleEvent` rejects only when `catchUp` is closed.
    }
  }

  /** Resolves when all loaded events of the event's channel or DM are passed on. */
  async resumed(event: OutboundEvent): Promise<void> {
    await this.#resuming.get(queueOf(event));
  }

  /** Resolves once the event is stored. Rejects if there is no room for the event, or if the store rejects. */
  async add(event: OutboundEvent): Promise<void> {
    // An earlier run has already stored this event, and the service pushed it again.
    if (this.#sizes.has(event.id)) return;
    const size = sizeOf(event);
    if (this.#bytes + size > ACCEPTED_MAX_BYTES) {
      throw new Error(
        `no room for the event: ${ACCEPTED_MAX_BYTES} bytes of events wait for the chat; check why the chat does not accept them`,
      );
    }
    this.#note(event.id, size);
    try {
      await this.#store?.add(event);
    } catch (error) {
      this.#forget(event.id);
      throw error;
    }
  }

  /**
   * Records that the event was passed to the reducer, or has expired. Removes the event from the store if the bridge
   * has shown or dropped it.
   */
  passOn(eventId: string, state: BridgeState): void {
    if (this.#sizes.has(eventId)) this.#passedOn.add(eventId);
    this.removeDone(state);
  }

  /** Removes the events that were passed on and that `state` no longer lists as open. */
  removeDone(state: BridgeState): void {
    if (this.#passedOn.size === 0) return;
    const open = openEventIds(state);
    for (const eventId of this.#passedOn) {
      if (open.has(eventId)) continue;
      this.#forget(eventId);
      const removal = this.#remove(eventId).finally(() => this.#removals.delete(removal));
      this.#removals.add(removal);
    }
  }

  /** Resolves when all removals are stored. */
  async idle(): Promise<void> {
    while (this.#removals.size > 0) await Promise.all(this.#removals);
  }

  #note(eventId: string, size: number): void {
    this.#sizes.set(eventId, size);
    this.#bytes += size;
  }

  #forget(eventId: string): void {
    this.#bytes -= this.#sizes.get(eventId) ?? 0;
    this.#sizes.delete(eventId);
    this.#passedOn.delete(eventId);
  }

  async #remove(eventId: string): Promise<void> {
    try {
      await this.#store?.remove(eventId);
    } catch (error) {
      this.#report(errorOf(`cannot remove ${eventId} from the store (a restart may show it again)`, error));
    }
  }
}

function sizeOf(event: OutboundEvent): number {
  return Buffer.byteLength(JSON.stringify(event));
}
