import type { Workspace } from "../domain/workspace";

/** A workspace as it was read, with the version that every later step on it is held to. */
export interface WorkspaceRecord {
  readonly workspace: Workspace;
  readonly version: number;
}

/** A page of workspaces, newest first. */
export interface WorkspacePage {
  readonly workspaces: readonly Workspace[];
  /** Continues the list; undefined on the last page. */
  readonly next: string | undefined;
}

/** The records of all workspaces. */
export interface Workspaces {
  /** As this core last read it, if it remembers: it may have changed since, so steps on it are held to its version. */
  recall(id: string): WorkspaceRecord | undefined;
  /** As the store has it now. */
  read(id: string): Promise<WorkspaceRecord | undefined>;
  /** False when the id is taken. */
  create(workspace: Workspace): Promise<boolean>;
  /** False when the record is not of that version any more: read again and decide again. */
  replace(workspace: Workspace, version: number): Promise<boolean>;
  /** Removes it with all that is held for it. False when there was none. */
  delete(workspace: Workspace): Promise<boolean>;
  /** @param after the `next` of the page before; undefined when it is not one */
  list(size: number, after: string | undefined): Promise<WorkspacePage | undefined>;
}
