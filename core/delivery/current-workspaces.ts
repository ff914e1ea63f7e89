import { OwnerMap } from "../../runtime/owner-map";
import { activeKeys, deliveryMode, type Workspace } from "../domain/workspace";
import type { Clock } from "../ports/outside";
import { StoreUnavailable } from "../ports/store-faults";
import type { Workspaces } from "../ports/workspaces";
import { FORGET_WORKSPACES_AT } from "./shard-queue";

/** Milliseconds between two calls to an unavailable store. */
export const AFTER_FAULT_MS = 200;

export type CurrentWorkspace = Workspace | "unreadable" | undefined;
export type CurrentWorkspaces = ReturnType<typeof createCurrentWorkspaces>;

/** The last read of a workspace. */
interface Reading {
  /** The era in which the result is valid. In later eras, the result is discarded. */
  era: number;
  /** The `performance.now()` time at which the read began. */
  at: number;
  workspace: Promise<CurrentWorkspace>;
}

const NO_WORKSPACE = Promise.resolve(undefined);
const newReading = (): Reading => ({ era: -1, at: -Infinity, workspace: NO_WORKSPACE });

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
  const readings = new OwnerMap(newReading, (reading) => reading.era !== era, FORGET_WORKSPACES_AT);
  /** The number of calls of `renew` so far. */
  let era = 0;

  function keep(reading: Reading, at: number, workspace: Promise<CurrentWorkspace>): void {
    reading.era = era;
    reading.at = at;
    reading.workspace = workspace;
  }

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
     * Returns the workspace, from a read that began at most `freshMs` ago. Calls within this time share one read. While
     * the store is unavailable, returns the workspace from the store's cache. If the cache lacks the workspace, waits
     * for the store. Returns undefined if the workspace does not exist or the lease is lost, and "unreadable" if the
     * workspace's record is damaged.
     */
    read(id: string, freshMs: number): Promise<CurrentWorkspace> {
      const at = performance.now();
      const reading = readings.of(id);
      if (reading.era !== era || at - reading.at >= freshMs) keep(reading, at, read(id));
      return reading.workspace;
    },
    /**
     * Discards the results of all reads. If `versions` lists the version of a workspace in the store's cache, treats
     * the cached workspace as read at the time `at`. Does not call the store.
     *
     * @param versions the current version of each workspace that has events in the latest read of the queue, keyed by
     * workspace id
     * @param at the `performance.now()` time at which the latest read of the queue began
     */
    renew(versions: ReadonlyMap<string, number>, at: number): void {
      era += 1;
      for (const [id, version] of versions) {
        const known = context.workspaces.recall(id);
        // The reading from the last era is no longer used, and may be forgotten.
        readings.idle(id);
        if (known?.version === version) keep(readings.of(id), at, Promise.resolve(known.workspace));
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
