import { createFairSlots } from "../domain/fair-slots";
import { StoreUnavailable } from "../ports/store-faults";

/** The limits by which core divides its work on large pages fairly among workspaces. */
export interface LargePageBounds {
  /** Maximum number of pages with at most `smallBytes` that core reads and sends at the same time. */
  readonly small: number;
  readonly smallBytes: number;
  /** Maximum number of larger pages that core reads and sends at the same time. */
  readonly larger: number;
  /** Maximum bytes per second of one workspace's large pages, on average. The first page never waits. */
  readonly bytesPerSecond: number;
  /**
   * Maximum milliseconds for which a poll waits to read a large page, and for which an unsent page delays the
   * workspace's other large pages. An edge does not wait longer than this for an answer.
   */
  readonly withinMs: number;
}

export const LARGE_PAGE_BOUNDS: LargePageBounds = {
  small: 128,
  smallBytes: 256 * 1024,
  larger: 8,
  bytesPerSecond: 4 * 1_048_576,
  withinMs: 5_000,
};

/**
 * Limits the work on large pages. A page can be up to 6 MB, and occupies core and the edge for tens of milliseconds. So
 * for each workspace, core reads and sends only one large page at a time, and at a limited rate.
 */
export function createLargePages({ small, smallBytes, larger, bytesPerSecond, withinMs }: LargePageBounds) {
  const ofWorkspace = createFairSlots({ inAll: Infinity, ofOne: 1 });
  const ofSmall = createFairSlots({ inAll: small, ofOne: 1 });
  const ofLarger = createFairSlots({ inAll: larger, ofOne: 1 });

  /** Acquires a slot. Calls `signal` only if no slot is free. */
  async function acquire(
    slots: typeof ofWorkspace,
    key: string,
    signal: () => AbortSignal,
  ): Promise<() => void> {
    return slots.tryAcquire(key) ?? slots.acquire(key, { signal: signal() });
  }

  /** Begins a turn, and returns the function that ends the turn. */
  function beginTurn(endTurn: () => void, leave: () => void): (bytes: number) => void {
    const beganAt = performance.now();
    const end = (bytes: number): void => {
      clearTimeout(late);
      leave();
      const restMs = beganAt + (bytes / bytesPerSecond) * 1_000 - performance.now();
      if (restMs > 0) setTimeout(endTurn, Math.ceil(restMs)).unref();
      else endTurn();
    };
    const late = setTimeout(end, withinMs, 0).unref();
    return end;
  }

  return {
    /**
     * Waits until a large page of the workspace may be read: until the workspace's previous page has been sent, and
     * until the workspace's rate limit allows another page. Resolves to a function that must be called with the page's
     * size in bytes when the page has been sent or is dropped. Rejects with `StoreUnavailable` after `withinMs`.
     *
     * @param mostBytes the maximum bytes of the page
     */
    async begin(workspaceId: string, mostBytes: number): Promise<(bytes: number) => void> {
      const slots = mostBytes <= smallBytes ? ofSmall : ofLarger;
      let waits: AbortSignal | undefined;
      const signal = (): AbortSignal => (waits ??= AbortSignal.timeout(withinMs));
      try {
        const endTurn = await acquire(ofWorkspace, workspaceId, signal);
        const leave = await acquire(slots, workspaceId, signal).catch((error: unknown) => {
          endTurn();
          throw error;
        });
        return beginTurn(endTurn, leave);
      } catch (cause) {
        throw new StoreUnavailable("other large pages take too long", { cause });
      }
    },
  };
}
