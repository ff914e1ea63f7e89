import type { EndSignal } from "../domain/end-signal";
import { renderOperatorTest } from "../domain/operator-event";
import { createSigningSecret, isHook, withRotatedSecret, type Workspace } from "../domain/workspace";
import { isEmail } from "../domain/workspace-profile";
import type { Clock, Ids, OperatorReceivers, OperatorSent } from "../ports/outside";
import type { OperatorTestLimits } from "../ports/limits";
import type { Workspaces } from "../ports/workspaces";
import {
  changeWorkspace,
  findUrlRefusal,
  NOT_FOUND,
  precondition,
  tooMany,
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
  const refusal = await findAddressRefusal(context, id, address);
  if (refusal !== undefined) return refusal;
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

async function findAddressRefusal(
  context: WorkspaceContext,
  id: string,
  address: string,
): Promise<WorkspaceRefusal | undefined> {
  if (isHook(address)) {
    const refusal = await findUrlRefusal(context, id, "address", address);
    return refusal?.refused === "invalid"
      ? { ...refusal, message: refusal.message.replace("the target URL", "the URL") }
      : refusal;
  }
  if (address === "" || isEmail(address)) return undefined;
  return { refused: "invalid", message: "address: must be an https URL, an email address, or empty" };
}

export interface OperatorTestContext {
  readonly now: Clock;
  readonly ids: Ids;
  readonly workspaces: Workspaces;
  readonly operatorReceivers: OperatorReceivers;
  readonly operatorTestLimits: OperatorTestLimits;
}

export interface OperatorTestOutcome {
  readonly eventId: string;
  readonly results: readonly (OperatorSent & { readonly receiver: string })[];
}

/**
 * Sends one test operator event to the address of a workspace, or to the addresses of the whole installation if `id` is
 * undefined. Rejects with the reason of `signal` if the signal is aborted while the test waits.
 */
export async function sendOperatorTest(
  context: OperatorTestContext,
  id: string | undefined,
  signal: EndSignal,
): Promise<OperatorTestOutcome | WorkspaceRefusal> {
  const { now, ids, workspaces, operatorReceivers } = context;
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
  const refusal = await countTest(context, workspace);
  if (refusal !== undefined) return refusal;
  const event = renderOperatorTest(`op_test_${ids.token()}`, now(), workspace);
  const results = await Promise.all(
    receivers.map(async (receiver) => {
      const sent = await receiver.testInTurn(() => receiver.send(event, signal), signal);
      const name = workspace === undefined ? receiver.key : `workspace-${receiver.kind}`;
      return sent === "full" ? sent : { ...sent, receiver: name };
    }),
  );
  const sent = results.filter((result) => result !== "full");
  if (sent.length < results.length) {
    return tooMany(
      "too many tests of this workspace's address wait for their turn: retry when their answers have arrived",
    );
  }
  return { eventId: event.id, results: sent };
}

/**
 * Counts a test of a workspace's address, or of the installation's addresses. Returns a refusal if a limit has been
 * reached.
 */
async function countTest(
  { operatorTestLimits }: OperatorTestContext,
  workspace: Workspace | undefined,
): Promise<WorkspaceRefusal | undefined> {
  const address = workspace?.operatorEvents?.address;
  const email = address === undefined || isHook(address) ? undefined : address;
  const again = await operatorTestLimits.admit(workspace?.id, email);
  return again === undefined
    ? undefined
    : tooMany(`too many tests of ${again.of} were sent: try again in ${again.afterSeconds} seconds`);
}
