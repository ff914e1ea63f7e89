import type { Workspace } from "../domain/workspace";

/** A workspace as it was read, and its version. Later steps check that the version has not changed. */
export interface WorkspaceRecord {
  readonly workspace: Workspace;
  readonly version: number;
}

/** A page of workspaces, newest first. */
export interface WorkspacePage {
  readonly workspaces: readonly Workspace[];
  /** The `after` of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** The records of all workspaces. */
export interface Workspaces {
  /** Returns the record from this core's cache, if present. It may be stale, so later steps check its version. */
  recall(id: string): WorkspaceRecord | undefined;
  /** Returns the current record in the store. */
  read(id: string): Promise<WorkspaceRecord | undefined>;
  /** Returns false when the id is already used. */
  create(workspace: Workspace): Promise<boolean>;
  /** Returns false when the version of the record has changed. The caller must read it and decide again. */
  replace(workspace: Workspace, version: number): Promise<boolean>;
  /** Removes the workspace and everything that is held for it. Returns false when there was none. */
  delete(workspace: Workspace): Promise<boolean>;
  /** @param after the `next` of the page before. The result is undefined when `after` is not a valid `next`. */
  list(size: number, after: string | undefined): Promise<WorkspacePage | undefined>;
}
