import type { Workspace } from "../domain/workspace";
import { changeWorkspace, type WorkspaceContext, type WorkspaceRefusal } from "./workspace-change";

/** Takes a workspace's hooks away and forgets its secrets. What is held stays held for its 24 hours. */
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
