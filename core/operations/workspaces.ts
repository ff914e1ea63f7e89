import { type Workspace, createSigningSecret, type Platform, withRotatedSecret } from "../domain/workspace";
import type { Clock, Ids, TargetUrlCheck } from "../ports/outside";
import type { Workspaces } from "../ports/store";
import { writeWorkspace } from "./write-workspace";
import { findProfileFault } from "../domain/workspace-profile";

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

/** Deletes a workspace and everything that is stored for it. */
export async function deleteWorkspace(
  context: WorkspaceContext,
  id: string,
): Promise<"deleted" | WorkspaceRefusal> {
  const record = await context.workspaces.read(id);
  if (record === undefined) return NOT_FOUND;
  return (await context.workspaces.delete(record.workspace)) ? "deleted" : NOT_FOUND;
}

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
