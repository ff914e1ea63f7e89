import { createSigningSecret, type Platform, type Workspace } from "../domain/workspace";
import { findProfileFault } from "../domain/workspace-profile";
import type { WorkspaceContext, WorkspaceRefusal } from "./workspace-change";
import { writeWorkspace } from "./write-workspace";

export interface CreateWorkspaceInput {
  readonly name: string;
  readonly ownerEmail: string;
  readonly platform: Platform;
  /** Empty for a poll workspace. */
  readonly targetUrl: string;
}

/** Creates a workspace. A workspace of the custom platform is connected at once; core never shows its secret again. */
export async function createWorkspace(
  context: WorkspaceContext,
  input: CreateWorkspaceInput,
): Promise<{ readonly workspace: Workspace; readonly secret: string } | WorkspaceRefusal> {
  const fault = findProfileFault(input) ?? (await findTargetUrlFault(context, input));
  if (fault !== undefined) return { refused: "invalid", message: fault };
  const custom = input.platform === "custom";
  const createdAtMs = context.now();
  const secret = custom ? context.ids.secret() : "";
  const workspace: Workspace = {
    id: context.ids.workspace(),
    ...input,
    connected: custom,
    secrets: custom ? [createSigningSecret(secret, createdAtMs)] : [],
    createdAtMs,
  };
  if (!(await writeWorkspace(context.workspaces, workspace)))
    throw new Error("the new workspace id exists already");
  return { workspace, secret };
}

async function findTargetUrlFault(
  context: WorkspaceContext,
  { platform, targetUrl }: CreateWorkspaceInput,
): Promise<string | undefined> {
  if (targetUrl === "") return undefined;
  if (platform !== "custom") return "target_url is for workspaces of the custom platform only";
  const fault = await context.targetUrlCheck.findFault(targetUrl);
  return fault === undefined ? undefined : `target_url: ${fault}`;
}
