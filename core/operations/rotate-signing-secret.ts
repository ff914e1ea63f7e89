import { createSigningSecret, withRotatedSecret, type Workspace } from "../domain/workspace";
import { changeWorkspace, type WorkspaceContext, type WorkspaceRefusal } from "./workspace-change";

/** Creates a new secret and returns it only here. The previous one stays valid for 24 hours (Authentication 6). */
export async function rotateSigningSecret(
  context: WorkspaceContext,
  id: string,
): Promise<{ readonly workspace: Workspace; readonly secret: string } | WorkspaceRefusal> {
  const secret = context.ids.secret();
  const rotated = await changeWorkspace(context.workspaces, id, (workspace) => {
    if (!workspace.connected) {
      return {
        refused: "precondition",
        message: "the workspace is not connected: connect it to get a secret",
      };
    }
    const nowMs = context.now();
    return (
      withRotatedSecret(workspace, createSigningSecret(secret, nowMs), nowMs) ?? {
        refused: "precondition",
        message: "four secrets are active: wait until the oldest expires, 24 hours after it was replaced",
      }
    );
  });
  return "refused" in rotated ? rotated : { ...rotated, secret };
}
