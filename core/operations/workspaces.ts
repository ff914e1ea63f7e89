import {
  createSigningSecret,
  missingKey,
  withRotatedSecret,
  type Platform,
  type Workspace,
} from "../domain/workspace";
import type { Clock, Ids, TargetUrlCheck } from "../ports/outside";
import { writeWorkspace, type WriteContext } from "./write-workspace";
import { findProfileFault } from "../domain/workspace-profile";
import type { CallsInProgress, ShareFull } from "./calls-in-progress";

export interface WorkspaceContext extends WriteContext {
  readonly now: Clock;
  readonly ids: Ids;
  readonly targetUrlCheck: TargetUrlCheck;
  /** The URL checks that are in progress. */
  readonly urlChecks: CallsInProgress;
  /** Called after each deletion, because the log of changes is deleted with its workspace. */
  onDeleted(workspaceId: string, by: string): void;
}

/** The reason why an operator's request is rejected. `message` is shown to the operator. */
export type WorkspaceRefusal =
  | { readonly refused: "not-found" }
  | { readonly refused: "invalid"; readonly message: string }
  | { readonly refused: "precondition"; readonly message: string }
  | ShareFull;

export const NOT_FOUND: WorkspaceRefusal = { refused: "not-found" };

export function precondition(message: string): WorkspaceRefusal {
  return { refused: "precondition", message };
}

export function tooMany(message: string): WorkspaceRefusal {
  return { refused: "too-many", message };
}

/** Returns the refusal for a call that needs a secret that core cannot decrypt. */
export function unreadable(missing: string): WorkspaceRefusal {
  return precondition(
    `the workspace's secret is unreadable: no key in SECRETS_KEY has the fingerprint ${missing}. Add this key to SECRETS_KEY, or connect the workspace, which creates a new secret`,
  );
}

/** The written workspace, or the reason why nothing was written. */
export type Outcome = { readonly workspace: Workspace } | WorkspaceRefusal;

const MOST_TRIES = 10;

/**
 * Changes a workspace. `change` is called with the current workspace and returns the changed workspace or a refusal.
 * If another request changes the workspace at the same time, `change` is called again. So concurrent changes to
 * different fields do not conflict. Of two changes to the same field, the later one remains.
 */
export async function changeWorkspace(
  context: WriteContext,
  id: string,
  change: (workspace: Workspace) => Workspace | WorkspaceRefusal,
): Promise<Outcome> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const record = await context.workspaces.read(id);
    if (record === undefined) return NOT_FOUND;
    const changed = change(record.workspace);
    if ("refused" in changed) return changed;
    if (await writeWorkspace(context, changed, record)) return { workspace: changed };
  }
  return precondition("other requests keep changing the workspace: try again");
}

export interface CreateWorkspaceInput {
  readonly name: string;
  readonly ownerEmail: string;
  readonly platform: Platform;
  /** Empty for a poll workspace. */
  readonly targetUrl: string;
}

/** Creates a workspace. A workspace of the custom platform is connected immediately, with a new secret. */
export async function createWorkspace(
  context: WorkspaceContext,
  input: CreateWorkspaceInput,
): Promise<Outcome> {
  const fault = findProfileFault(input);
  if (fault !== undefined) return { refused: "invalid", message: fault };
  if (input.platform !== "custom" && input.targetUrl !== "") {
    return { refused: "invalid", message: "target_url is for workspaces of the custom platform only" };
  }
  const refusal = await findUrlRefusal(context, undefined, "target_url", input.targetUrl);
  if (refusal !== undefined) return refusal;
  const custom = input.platform === "custom";
  const createdAtMs = context.now();
  const workspace: Workspace = {
    id: context.ids.workspace(),
    ...input,
    connected: custom,
    secrets: custom ? [createSigningSecret(context.ids.secret(), createdAtMs)] : [],
    createdAtMs,
  };
  if (!(await writeWorkspace(context, workspace))) throw new Error("the new workspace id already exists");
  return { workspace };
}

/**
 * Returns why a URL cannot be set; undefined if the URL is allowed or empty.
 *
 * @param workspaceId undefined for a new workspace
 * @param field the name of the field in the request that contains the URL
 */
export async function findUrlRefusal(
  { urlChecks, targetUrlCheck, by }: WorkspaceContext,
  workspaceId: string | undefined,
  field: string,
  url: string,
): Promise<WorkspaceRefusal | undefined> {
  if (url === "") return undefined;
  return urlChecks.run<WorkspaceRefusal | undefined>({ workspaceId, by }, async () => {
    const fault = await targetUrlCheck.findFault(url);
    return fault === undefined ? undefined : { refused: "invalid", message: `${field}: ${fault}` };
  });
}

/** Changes the name or the owner's email. Does not change a field whose new value is undefined. */
export function updateWorkspace(
  context: WorkspaceContext,
  id: string,
  { name, ownerEmail }: { readonly name?: string | undefined; readonly ownerEmail?: string | undefined },
): Promise<Outcome> {
  return changeWorkspace(context, id, (workspace) => {
    // Only changed fields are checked: the others may have been set before a rule was added.
    const fault = findProfileFault({ name, ownerEmail });
    if (fault !== undefined) return { refused: "invalid", message: fault };
    return {
      ...workspace,
      name: name ?? workspace.name,
      ownerEmail: ownerEmail ?? workspace.ownerEmail,
    };
  });
}

/**
 * Deletes a workspace, its secrets, its held and failed events, and its logs. The other data of the workspace expires
 * within 36 hours and 10 minutes.
 */
export async function deleteWorkspace(
  context: WorkspaceContext,
  id: string,
): Promise<"deleted" | WorkspaceRefusal> {
  const record = await context.workspaces.read(id);
  if (record === undefined) return NOT_FOUND;
  if (!(await context.workspaces.delete(record.workspace))) return NOT_FOUND;
  context.onDeleted(id, context.by);
  return "deleted";
}

/**
 * Connects a disconnected workspace, with a new secret. For a connected workspace with an unreadable secret, only
 * replaces the secrets, so that the events in the push queue are kept.
 */
export function connectWorkspace(context: WorkspaceContext, id: string): Promise<Outcome> {
  const { ids, now } = context;
  return changeWorkspace(context, id, (workspace) => {
    if (workspace.platform !== "custom") {
      return precondition("only workspaces of the custom platform can connect a bridge");
    }
    if (workspace.connected && missingKey(workspace, now()) === undefined) {
      return precondition("the workspace is already connected: rotate the secret to get a new secret");
    }
    return { ...workspace, connected: true, secrets: [createSigningSecret(ids.secret(), now())] };
  });
}

/** Disconnects a workspace, and deletes the workspace's secrets. Held events are kept until they are 24 hours old. */
export function disconnectWorkspace(context: WorkspaceContext, id: string): Promise<Outcome> {
  return changeWorkspace(context, id, (workspace) => ({
    ...workspace,
    connected: false,
    secrets: [],
  }));
}

/** Sets the URL to which events are pushed. An empty URL clears the target URL, and further events are held. */
export async function setTargetUrl(
  context: WorkspaceContext,
  id: string,
  targetUrl: string,
): Promise<Outcome> {
  const refusal = await findUrlRefusal(context, id, "target_url", targetUrl);
  if (refusal !== undefined) return refusal;
  return changeWorkspace(context, id, (workspace) =>
    workspace.platform === "custom"
      ? { ...workspace, targetUrl }
      : precondition("only workspaces of the custom platform have a target URL"),
  );
}

/** Creates a new secret. The previous secret stays valid for 24 hours (bridge guide, "Signatures"). */
export function rotateSigningSecret(context: WorkspaceContext, id: string): Promise<Outcome> {
  const { ids, now } = context;
  return changeWorkspace(context, id, (workspace) => {
    if (!workspace.connected)
      return precondition("the workspace is not connected: connect it to get a secret");
    const missing = missingKey(workspace, now());
    if (missing !== undefined) return unreadable(missing);
    return (
      withRotatedSecret(workspace, createSigningSecret(ids.secret(), now())) ??
      precondition("four secrets are active: wait until the oldest expires, 24 hours after it was replaced")
    );
  });
}
