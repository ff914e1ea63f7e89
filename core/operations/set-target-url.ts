import type { Workspace } from "../domain/workspace";
import { changeWorkspace, type WorkspaceContext, type WorkspaceRefusal } from "./workspace-change";

/** Sets the URL to which events are pushed. An empty one clears it, and further events are held. */
export async function setTargetUrl(
  context: WorkspaceContext,
  id: string,
  targetUrl: string,
): Promise<{ readonly workspace: Workspace } | WorkspaceRefusal> {
  const fault = targetUrl === "" ? undefined : await context.targetUrlCheck.findFault(targetUrl);
  if (fault !== undefined) return { refused: "invalid", message: `target_url: ${fault}` };
  return changeWorkspace(context.workspaces, id, (workspace) =>
    workspace.platform === "custom"
      ? { ...workspace, targetUrl }
      : { refused: "precondition", message: "only workspaces of the custom platform have a target URL" },
  );
}
