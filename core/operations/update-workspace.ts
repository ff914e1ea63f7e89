import type { Workspace } from "../domain/workspace";
import { findProfileFault } from "../domain/workspace-profile";
import { changeWorkspace, type WorkspaceContext, type WorkspaceRefusal } from "./workspace-change";

/** Changes the name or the owner's email. An undefined field stays as it is. */
export function updateWorkspace(
  context: WorkspaceContext,
  id: string,
  { name, ownerEmail }: { readonly name?: string | undefined; readonly ownerEmail?: string | undefined },
): Promise<{ readonly workspace: Workspace } | WorkspaceRefusal> {
  return changeWorkspace(context.workspaces, id, (workspace) => {
    // Fields that stay are not checked: they may be older than a rule.
    const fault = findProfileFault({ name, ownerEmail });
    if (fault !== undefined) return { refused: "invalid", message: fault };
    return {
      ...workspace,
      name: name ?? workspace.name,
      ownerEmail: ownerEmail ?? workspace.ownerEmail,
    };
  });
}
