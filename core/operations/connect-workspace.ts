import { createSigningSecret, type Workspace } from "../domain/workspace";
import { changeWorkspace, type WorkspaceContext, type WorkspaceRefusal } from "./workspace-change";

/** Connects a disconnected workspace. Returns its new secret, which core never shows again. */
export async function connectWorkspace(
  context: WorkspaceContext,
  id: string,
): Promise<{ readonly workspace: Workspace; readonly secret: string } | WorkspaceRefusal> {
  const secret = context.ids.secret();
  const connected = await changeWorkspace(context.workspaces, id, (workspace) => {
    if (workspace.platform !== "custom") {
      return {
        refused: "precondition",
        message: "only workspaces of the custom platform can connect a bridge",
      };
    }
    if (workspace.connected) {
      return {
        refused: "precondition",
        message: "the workspace is connected already: rotate the secret to get a new one",
      };
    }
    return { ...workspace, connected: true, secrets: [createSigningSecret(secret, context.now())] };
  });
  return "refused" in connected ? connected : { ...connected, secret };
}
