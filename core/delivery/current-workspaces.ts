import type { Workspace } from "../domain/workspace";
import { StoreUnavailable } from "../ports/store-unavailable";
import type { Workspaces } from "../ports/workspaces";

/** How long is waited after the store was away, before it is tried again. */
export const AFTER_FAULT_MS = 200;
const AFTER_BUG_MS = 1_000;

/** The workspaces of a shard as attempts to push need them: as they are now, or were a moment ago. */
export interface CurrentWorkspaces {
  /**
   * The workspace as it was read at most `freshMs` ago, once for all who ask in that
   * time; as it was last known when the store is away, which is waited for when it
   * never was. Undefined when there is none, or the lease is lost.
   */
  read(id: string, freshMs: number): Promise<Workspace | undefined>;
  /**
   * Forgets what was read before, except where the version that is remembered was still the current one when
   * the queue was read: that workspace counts as read then, and needs no further call to the store.
   *
   * @param versions of the workspaces whose events were read
   * @param at when that reading began, by performance.now()
   */
  renew(versions: ReadonlyMap<string, number>, at: number): void;
}

export function createCurrentWorkspaces(
  context: { readonly workspaces: Workspaces; report(where: string, error: unknown): void },
  lost: AbortSignal,
): CurrentWorkspaces {
  const readings = new Map<
    string,
    { readonly at: number; readonly workspace: Promise<Workspace | undefined> }
  >();

  async function read(id: string): Promise<Workspace | undefined> {
    while (!lost.aborted) {
      let pauseMs = AFTER_FAULT_MS;
      try {
        return (await context.workspaces.read(id))?.workspace;
      } catch (error) {
        const known = context.workspaces.recall(id);
        if (!(error instanceof StoreUnavailable)) {
          context.report("dispatch", error);
          pauseMs = AFTER_BUG_MS;
        }
        if (known !== undefined) return known.workspace;
      }
      await pause(pauseMs);
    }
    return undefined;
  }

  return {
    read(id, freshMs) {
      const at = performance.now();
      const known = readings.get(id);
      if (known !== undefined && at - known.at < freshMs) return known.workspace;
      const workspace = read(id);
      readings.set(id, { at, workspace });
      return workspace;
    },
    renew(versions, at) {
      readings.clear();
      for (const [id, version] of versions) {
        const known = context.workspaces.recall(id);
        if (known?.version !== version) continue;
        readings.set(id, { at, workspace: Promise.resolve(known.workspace) });
      }
    },
  };
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
