import type { Workspace } from "../domain/workspace";
import { changeWorkspace, type WorkspaceContext, type WorkspaceRefusal } from "./workspace-change";

/** Disables the hooks of a workspace and deletes its secrets. Held events stay held for their 24 hours. */
export function disconnectWorkspace(
  context: WorkspaceContext,
  id: string,
): Promise<{ readonly workspace: Workspace } | WorkspaceRefusal> {
  return changeWorkspace(context.workspaces, id, (workspace) => ({
    ...workspace,
    connected: false,
    secrets: [],
  }));
}
