import { NOT_FOUND, type WorkspaceContext, type WorkspaceRefusal } from "./workspace-change";

/** Deletes a workspace and everything that is stored for it. */
export async function deleteWorkspace(
  context: WorkspaceContext,
  id: string,
): Promise<"deleted" | WorkspaceRefusal> {
  const record = await context.workspaces.read(id);
  if (record === undefined) return NOT_FOUND;
  return (await context.workspaces.delete(record.workspace)) ? "deleted" : NOT_FOUND;
}
