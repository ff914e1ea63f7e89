import type { CatchUp } from "./catch-up";
import type { OutboundEvent } from "./events";
import { errorOf } from "./problem";
import type { PushStore } from "./push-store";
import { openEventIds, type BridgeState } from "./reduce-state";

/**
 * The events of pushes that a bridge has accepted and that are not yet shown or dropped. Their size is bounded.
 *
 *     add ──▶ passOn ──▶ the reducer shows or drops the event ──▶ removeDone
 *     load ─▶ resume ──▲
 */
export interface AcceptedPushes {
  /** Loads the events that an earlier run accepted and did not finish. Called once, before all other functions. */
  load(): Promise<void>;
  /**
   * Passes the loaded events on, in the order of their acceptance. Resolves when `catchUp` has all of them, or is
   * closed: then the other events stay stored for the next run.
   */
  resume(catchUp: CatchUp): Promise<void>;
  /** Resolves once the event is stored. Rejects if there is no room, or if the store rejects. */
  add(event: OutboundEvent): Promise<void>;
  /** Notes that the reducer was given the event, or that the event has expired. Removes the event if it is done. */
  passOn(eventId: string, state: BridgeState): void;
  /** Removes the events that were passed on and that are no longer open in `state`. */
  removeDone(state: BridgeState): void;
  /** Resolves when all removals are stored. */
  idle(): Promise<void>;
}

export interface AcceptedPushesOptions {
  /** Undefined keeps no events over a restart. */
  readonly store: PushStore | undefined;
  readonly report: (problem: Error) => void;
}

/** Maximum size of all events, bytes of JSON. */
export const ACCEPTED_MAX_BYTES = 16 * 1024 * 1024;

export function createAcceptedPushes({ store, report }: AcceptedPushesOptions): AcceptedPushes {
  /** Sizes of the accepted events, by id, bytes. */
  const sizes = new Map<string, number>();
  const passedOn = new Set<string>();
  const removals = new Set<Promise<void>>();
  let unfinished: readonly OutboundEvent[] = [];
  let bytes = 0;

  function note(event: OutboundEvent): void {
    const size = sizeOf(event);
    sizes.set(event.id, size);
    bytes += size;
  }

  function forget(eventId: string): void {
    bytes -= sizes.get(eventId) ?? 0;
    sizes.delete(eventId);
    passedOn.delete(eventId);
  }

  async function remove(eventId: string): Promise<void> {
    try {
      await store?.remove(eventId);
    } catch (error) {
      report(errorOf(`cannot remove ${eventId} from the store (a restart may show it again)`, error));
    }
  }

  function removeDone(state: BridgeState): void {
    if (passedOn.size === 0) return;
    const open = openEventIds(state);
    for (const eventId of passedOn) {
      if (open.has(eventId)) continue;
      forget(eventId);
      const removal = remove(eventId).finally(() => removals.delete(removal));
      removals.add(removal);
    }
  }

  function passOn(eventId: string, state: BridgeState): void {
    if (sizes.has(eventId)) passedOn.add(eventId);
    removeDone(state);
  }

  return {
    async load() {
      unfinished = (await store?.load()) ?? [];
      for (const event of unfinished) note(event);
    },
    async resume(catchUp) {
      const events = unfinished;
      unfinished = [];
      try {
        for (const event of events) {
          await catchUp.handleEvent(event);
          passOn(event.id, catchUp.state);
        }
      } catch {
        // `handleEvent` rejects only when `catchUp` is closed.
      }
    },
    async add(event) {
      // A push of an event that an earlier run has stored.
      if (sizes.has(event.id)) return;
      if (bytes + sizeOf(event) > ACCEPTED_MAX_BYTES) {
        throw new Error(
          `no room for the event: ${ACCEPTED_MAX_BYTES} bytes of events wait for the chat; check why the chat does not accept them`,
        );
      }
      note(event);
      try {
        await store?.add(event);
      } catch (error) {
        forget(event.id);
        throw error;
      }
    },
    passOn,
    removeDone,
    async idle() {
      while (removals.size > 0) await Promise.all(removals);
    },
  };
}

function sizeOf(event: OutboundEvent): number {
  return Buffer.byteLength(JSON.stringify(event));
}
