import type { DeliveryResult } from "../../contract/deliveries";
import type { WorkspaceState } from "../../contract/workspace-states";

/** The state of a workspace, and facts that lists show beside it. Times are in ms; undefined means never. */
export interface Standing {
  readonly id: string;
  readonly state: WorkspaceState;
  /** For a failing workspace, the time at which it began to fail; otherwise the time at which it was created. */
  readonly sinceMs: number;
  /**
   * For polls, the time of the poll that ended the last outage. For pushes, the time of the first accepted attempt after
   * the last failure.
   */
  readonly recoveredAtMs: number | undefined;
  readonly lastPollAtMs: number | undefined;
  /** The last attempt to push. */
  readonly lastAttempt:
    | { readonly atMs: number; readonly result: DeliveryResult; readonly status: number }
    | undefined;
}

/** A page of the list of workspaces by state. */
export interface StatePage {
  readonly ids: readonly string[];
  /** The value of `after` for the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** The number of workspaces in each state. */
export type StateCounts = Readonly<Record<WorkspaceState, number>>;

/**
 * The index of the workspaces by state. The store changes the index in the same step as the facts on which a state
 * depends.
 */
export interface WorkspaceStates {
  /**
   * Returns one page, the most urgent states first. Failing workspaces are sorted by the time at which they began to
   * fail, latest first. Other workspaces with the same state are sorted by the time of their creation, newest first.
   * The result is undefined when `after` is not a valid `next`.
   *
   * A `next` is a place in this order. If a workspace changes its state between two pages, its place changes: the
   * following pages may contain it again, or may not contain it at all. Other workspaces are neither lost nor repeated.
   *
   * @param after the `next` of the previous page
   * @param states the states to list
   * @param only ids of the workspaces to list; undefined for all workspaces
   */
  list(
    size: number,
    after: string | undefined,
    states: ReadonlySet<WorkspaceState>,
    only?: ReadonlySet<string>,
  ): Promise<StatePage | undefined>;
  /** @param only ids of the workspaces to count; undefined for all workspaces */
  count(only?: ReadonlySet<string>): Promise<StateCounts>;
  /** Counts the workspaces of a shard, for metrics. The result is undefined while the index of the shard is incomplete. */
  countShard(shard: number): Promise<StateCounts | undefined>;
  /** Returns the standings of the workspaces that exist, in the order of `ids`. */
  read(ids: readonly string[]): Promise<readonly Standing[]>;
}
