import type { Workspace } from "../domain/workspace";
import type { Change, LoggedChange } from "../domain/workspace-changes";

/**
 * A workspace, and the version of its record at the time of the read. Later steps check that the version has not
 * changed.
 */
export interface WorkspaceRecord {
  readonly workspace: Workspace;
  readonly version: number;
}

/** A page of workspaces, newest first. */
export interface WorkspacePage {
  readonly workspaces: readonly Workspace[];
  /** The value of `after` for the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** The records of all workspaces. */
export interface Workspaces {
  /**
   * Returns the record from this core's cache, if present. The record may be stale, so later steps check its version.
   */
  recall(id: string): WorkspaceRecord | undefined;
  /** Returns the current record in the store. */
  read(id: string): Promise<WorkspaceRecord | undefined>;
  /** Stores the workspace and logs `changes`, in one step. Returns false when the id is already used. */
  create(workspace: Workspace, changes?: readonly Change[]): Promise<boolean>;
  /**
   * Stores the workspace and logs `changes`, in one step. Returns false when the version of the record has changed; the
   * caller must then read the record again.
   */
  replace(workspace: Workspace, version: number, changes?: readonly Change[]): Promise<boolean>;
  /**
   * Deletes the workspace, its held and failed events, and its logs of deliveries and changes. Returns false when the
   * workspace did not exist.
   */
  delete(workspace: Workspace): Promise<boolean>;
  /**
   * Returns one page. The result is undefined when `after` is not a valid `next`.
   *
   * @param after the `next` of the previous page
   * @param only ids of the workspaces to list; undefined for all workspaces
   */
  list(
    size: number,
    after: string | undefined,
    only?: ReadonlySet<string>,
  ): Promise<WorkspacePage | undefined>;
}

/** The changes that operators made in each workspace: the last `CHANGES_LOGGED_MAX`. */
export interface ChangeLog {
  /**
   * Logs that a test event was sent, or that events were sent again. Such entries have their own bound, so that they
   * never displace other changes. Does nothing if the workspace does not exist.
   */
  append(workspaceId: string, change: Change): Promise<void>;
  /** Returns all logged changes, newest first. */
  read(workspaceId: string): Promise<readonly LoggedChange[]>;
}
