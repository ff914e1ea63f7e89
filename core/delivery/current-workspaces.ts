import { activeKeys, deliveryMode, type Workspace } from "../domain/workspace";
import type { Clock } from "../ports/outside";
import { StoreUnavailable } from "../ports/store-faults";
import type { Workspaces } from "../ports/workspaces";

/** Milliseconds between two calls to an unavailable store. */
export const AFTER_FAULT_MS = 200;

export type CurrentWorkspace = Workspace | "unreadable" | undefined;
export type CurrentWorkspaces = ReturnType<typeof createCurrentWorkspaces>;

/**
 * Reads the workspaces to which a shard's events are pushed. Calls within a short time share one result (coalescing).
 */
export function createCurrentWorkspaces(
  context: {
    readonly now: Clock;
    readonly workspaces: Workspaces;
    report(where: string, error: unknown): void;
  },
  over: AbortSignal,
) {
  const readings = new Map<string, { readonly at: number; readonly workspace: Promise<CurrentWorkspace> }>();

  async function read(id: string): Promise<CurrentWorkspace> {
    while (!over.aborted) {
      try {
        return (await context.workspaces.read(id))?.workspace;
      } catch (error) {
        const known = context.workspaces.recall(id);
        if (!(error instanceof StoreUnavailable)) context.report("dispatch", error);
        if (known !== undefined) return known.workspace;
        if (!(error instanceof StoreUnavailable)) return "unreadable";
      }
      await pause(AFTER_FAULT_MS);
    }
    return undefined;
  }

  return {
    /**
     * Returns the workspace, from a read that began at most `freshMs` ago. Calls within that time share one read.
     * While the store is unavailable, returns the workspace from the store's cache. If the cache lacks the
     * workspace, waits for the store. Returns undefined when the workspace does not exist or the lease is lost, and
     * "unreadable" when its record is damaged.
     */
    read(id: string, freshMs: number): Promise<CurrentWorkspace> {
      const at = performance.now();
      const known = readings.get(id);
      if (known !== undefined && at - known.at < freshMs) return known.workspace;
      const workspace = read(id);
      readings.set(id, { at, workspace });
      return workspace;
    },
    /**
     * Discards the results of all reads. Treats a workspace in the store's cache as read at the time `at` if `versions`
     * lists the cached version. Does not call the store.
     *
     * @param versions the current version of each workspace with events in the latest read of the queue, by id
     * @param at the `performance.now()` time at which that read began
     */
    renew(versions: ReadonlyMap<string, number>, at: number): void {
      readings.clear();
      for (const [id, version] of versions) {
        const known = context.workspaces.recall(id);
        if (known?.version !== version) continue;
        readings.set(id, { at, workspace: Promise.resolve(known.workspace) });
      }
    },
    /**
     * Returns false for a push workspace if core cannot read its record, or cannot decrypt the secrets that sign its
     * pushes. Otherwise returns true. Throws `StoreUnavailable`.
     */
    async isReadable(id: string): Promise<boolean> {
      try {
        const workspace = (await context.workspaces.read(id))?.workspace;
        if (workspace === undefined || deliveryMode(workspace) !== "push") return true;
        return activeKeys(workspace, context.now()).length > 0;
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error;
        context.report("dispatch", error);
        return false;
      }
    },
  };
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
