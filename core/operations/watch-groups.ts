import { createWaker } from "../domain/waker";
import type { Lease } from "../leases/lease";
import { StoreUnavailable } from "../ports/store-faults";
import type { Groups } from "../ports/follow-log";
import { removeIdleGroups } from "./groups";

export interface GroupWatchContext {
  readonly groups: Groups;
  /** Called when a group was removed, because it has had no stream for `GROUP_IDLE_MS`. */
  onGroupRemoved(group: string): void;
  /** Called with every error except `StoreUnavailable`. */
  report(where: string, error: unknown): void;
}

/** The shard whose holder watches the groups of all shards. Only one core holds a shard at any time. */
const WATCHED_FROM = 0;
/**
 * Milliseconds before each check. The first check waits too, so that streams can open again after a restart of core.
 */
const LOOK_EVERY_MS = 15_000;

/**
 * Removes the groups of followers that have had no stream for `GROUP_IDLE_MS`, while the lease of shard 0 is held.
 * Does nothing for other shards.
 */
export async function watchGroups(context: GroupWatchContext, { shard, stopping }: Lease): Promise<void> {
  if (shard !== WATCHED_FROM) return;
  const waker = createWaker();
  stopping.addEventListener("abort", waker.wake, { once: true });
  for (;;) {
    if (!stopping.aborted) await waker.wait(LOOK_EVERY_MS);
    if (stopping.aborted) return;
    try {
      await removeIdleGroups(context.groups, context.onGroupRemoved);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) context.report("groups", error);
    }
  }
}
