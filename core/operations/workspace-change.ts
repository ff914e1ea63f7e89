import type { Workspace } from "../domain/workspace";
import type { Clock } from "../ports/clock";
import type { Ids } from "../ports/ids";
import type { TargetUrlCheck } from "../ports/target-url-check";
import type { Workspaces } from "../ports/workspaces";
import { writeWorkspace } from "./write-workspace";

export interface WorkspaceContext {
  readonly now: Clock;
  readonly ids: Ids;
  readonly workspaces: Workspaces;
  readonly targetUrlCheck: TargetUrlCheck;
}

/** Why an operator's request is refused. The messages are for people. */
export type WorkspaceRefusal =
  | { readonly refused: "not-found" }
  | { readonly refused: "invalid"; readonly message: string }
  | { readonly refused: "precondition"; readonly message: string };

export const NOT_FOUND: WorkspaceRefusal = { refused: "not-found" };

const MOST_TRIES = 10;

/**
 * Changes a workspace. `change` is called with the current workspace and returns the changed one, or a
 * refusal. It is called again when another call has changed the workspace meanwhile.
 */
export async function changeWorkspace(
  workspaces: Workspaces,
  id: string,
  change: (workspace: Workspace) => Workspace | WorkspaceRefusal,
): Promise<{ readonly workspace: Workspace } | WorkspaceRefusal> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const record = await workspaces.read(id);
    if (record === undefined) return NOT_FOUND;
    const changed = change(record.workspace);
    if ("refused" in changed) return changed;
    if (await writeWorkspace(workspaces, changed, record)) return { workspace: changed };
  }
  return { refused: "precondition", message: "the workspace is being changed by others: try again" };
}
