import { createFairSlots } from "../domain/fair-slots";
import { StoreUnavailable } from "../ports/store";

/** How core shares its work on large pages among workspaces. */
export interface LargePageBounds {
  /** Maximum number of large pages that core reads, renders and sends at the same time. A workspace has one of them. */
  readonly inAll: number;
  /** The pace of one workspace's large pages. The first page never waits. */
  readonly bytesPerSecond: number;
  /**
   * Maximum milliseconds for which a poll waits to read a large page, and for which a page prevents others from being
   * read. An edge waits no longer for an answer.
   */
  readonly withinMs: number;
}

export const LARGE_PAGE_BOUNDS: LargePageBounds = {
  inAll: 8,
  bytesPerSecond: 8 * 1_048_576,
  withinMs: 5_000,
};

export type LargePages = ReturnType<typeof createLargePages>;

/**
 * Gives each workspace in turn the right to have a large page read and sent. A page has up to 6 MB, and occupies core and the
 * edge for tens of milliseconds. So a workspace has one page at a time, and a pace.
 */
export function createLargePages({ inAll, bytesPerSecond, withinMs }: LargePageBounds) {
  const ofWorkspace = createFairSlots({ inAll: Infinity, ofOne: 1 });
  const ofAll = createFairSlots({ inAll, ofOne: 1 });

  return {
    /**
     * Waits until a large page of the workspace may be read. Resolves to a function that must be called when the page has
     * been sent or is dropped, with the page's bytes. The workspace's next page waits for that call, and then for the pace.
     * Rejects with `StoreUnavailable` after `withinMs`.
     */
    async begin(workspaceId: string): Promise<(bytes: number) => void> {
      const signal = AbortSignal.timeout(withinMs);
      try {
        const endTurn = await ofWorkspace.acquire(workspaceId, { signal });
        const leave = await ofAll.acquire(workspaceId, { signal }).catch((error: unknown) => {
          endTurn();
          throw error;
        });
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
      } catch (cause) {
        throw new StoreUnavailable("other large pages take too long", { cause });
      }
    },
  };
}
