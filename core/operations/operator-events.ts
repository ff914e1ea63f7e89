import { renderOperatorTest } from "../domain/operator-event";
import { createSigningSecret, isHook, withRotatedSecret, type Workspace } from "../domain/workspace";
import { isEmail } from "../domain/workspace-profile";
import type { Clock, Ids, OperatorReceivers, OperatorSent } from "../ports/outside";
import type { Workspaces } from "../ports/store";
import {
  changeWorkspace,
  NOT_FOUND,
  precondition,
  type Outcome,
  type WorkspaceContext,
  type WorkspaceRefusal,
} from "./workspaces";

/**
 * Sets the address that gets the operator events about a workspace; empty for none. For a URL, creates a new secret. If
 * the URL is unchanged, its previous secret stays valid for 24 hours.
 */
export async function setOperatorEventsAddress(
  context: WorkspaceContext,
  id: string,
  address: string,
): Promise<Outcome> {
  const fault = await findAddressFault(context, address);
  if (fault !== undefined) return { refused: "invalid", message: `address: ${fault}` };
  const { ids, now } = context;
  return changeWorkspace(context, id, (workspace) => {
    const { operatorEvents: before, ...rest } = workspace;
    if (address === "") return rest;
    if (!isHook(address)) return { ...rest, operatorEvents: { address, secrets: [] } };
    const fresh = createSigningSecret(ids.secret(), now());
    if (before?.address !== address) return { ...rest, operatorEvents: { address, secrets: [fresh] } };
    const operatorEvents = withRotatedSecret(before, fresh);
    if (operatorEvents === undefined) {
      return precondition(
        "four secrets are active: wait until the oldest expires, 24 hours after it was replaced",
      );
    }
    return { ...rest, operatorEvents };
  });
}

async function findAddressFault(context: WorkspaceContext, address: string): Promise<string | undefined> {
  if (address === "") return undefined;
  if (isHook(address)) {
    const fault = await context.targetUrlCheck.findFault(address);
    return fault?.replace("the target URL", "the URL");
  }
  return isEmail(address) ? undefined : "must be an https URL, an email address, or empty";
}

export interface OperatorTestContext {
  readonly now: Clock;
  readonly ids: Ids;
  readonly workspaces: Workspaces;
  readonly operatorReceivers: OperatorReceivers;
}

export interface OperatorTestOutcome {
  readonly eventId: string;
  readonly results: readonly (OperatorSent & { readonly receiver: string })[];
}

/**
 * Sends a test once to the address of a workspace, or to the addresses of the whole installation if `id` is undefined.
 */
export async function sendOperatorTest(
  { now, ids, workspaces, operatorReceivers }: OperatorTestContext,
  id: string | undefined,
): Promise<OperatorTestOutcome | WorkspaceRefusal> {
  let workspace: Workspace | undefined;
  if (id !== undefined) {
    workspace = (await workspaces.read(id))?.workspace;
    if (workspace === undefined) return NOT_FOUND;
  }
  const own = workspace && operatorReceivers.ofWorkspace(workspace);
  const ofWorkspace = own === undefined ? [] : [own];
  const receivers = workspace === undefined ? operatorReceivers.ofInstallation : ofWorkspace;
  if (receivers.length === 0) {
    return precondition(
      workspace === undefined
        ? "core has no address for operator events: set OPERATOR_EVENTS_URL or OPERATOR_EVENTS_MAIL"
        : "the workspace has no address for operator events: set one first",
    );
  }
  const event = renderOperatorTest(`op_test_${ids.token()}`, now(), workspace);
  const results = await Promise.all(
    receivers.map(async (receiver) => ({
      ...(await receiver.inTurn(() => receiver.send(event))),
      receiver: workspace === undefined ? receiver.key : `workspace-${receiver.kind}`,
    })),
  );
  return { eventId: event.id, results };
}
