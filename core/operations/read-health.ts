import { HEALTH_STATES, type HealthState } from "../../contract/health-states";
import type { LoggedDelivery } from "../domain/delivery";
import { pollState } from "../domain/health-state";
import { pushHealth, type PushHealth } from "../domain/push-health";
import { deliveryMode, type Workspace } from "../domain/workspace";
import type { Clock } from "../ports/outside";
import { LOGGED_MAX, type DeliveryLog } from "../ports/delivery-log";
import type { InboundLog } from "../ports/inbound-log";
import type { PollHealth, PollWatch } from "../ports/poll-watch";
import type { WorkspaceStates } from "../ports/workspace-states";

export interface HealthContext {
  readonly now: Clock;
  readonly deliveryLog: DeliveryLog;
  readonly inboundLog: Pick<InboundLog, "firstAtMs">;
  readonly pollWatch: PollWatch;
  readonly workspaceStates: Pick<WorkspaceStates, "read">;
}

/** The health of the polls or pushes of a workspace; undefined when the workspace does not get events. */
export type WorkspaceHealth =
  | ((
      | ({ readonly mode: "poll"; readonly state: HealthState } & PollHealth)
      | ({ readonly mode: "push" } & PushHealth)
    ) & {
      /** The time of the first signed POST, in ms since the epoch; undefined when none has arrived. */
      readonly firstPostAtMs: number | undefined;
    })
  | undefined;

/**
 * Returns the health of a workspace. Takes the state from the index of the workspaces by state, so that lists of
 * workspaces show the same state.
 *
 * @param readPushes reads the logged deliveries of a push workspace, newest first
 */
export async function readHealth(
  context: HealthContext,
  workspace: Workspace,
  readPushes = (): Promise<readonly LoggedDelivery[]> =>
    context.deliveryLog.read(workspace.id, LOGGED_MAX, undefined),
): Promise<WorkspaceHealth> {
  const mode = deliveryMode(workspace);
  const { id } = workspace;
  const firstPost = () => context.inboundLog.firstAtMs(id);
  const readState = async () => (await context.workspaceStates.read([id]))[0];
  switch (mode) {
    case "poll": {
      const [health, firstPostAtMs, standing] = await Promise.all([
        context.pollWatch.health(id),
        firstPost(),
        readState(),
      ]);
      const state = HEALTH_STATES.find((each) => each === standing?.state);
      return { mode, state: state ?? pollState(health, context.now()), ...health, firstPostAtMs };
    }
    case "push": {
      const [pushes, firstPostAtMs, standing] = await Promise.all([readPushes(), firstPost(), readState()]);
      const health = { ...pushHealth(pushes, context.now()), firstPostAtMs };
      const state = HEALTH_STATES.find((each) => each === standing?.state);
      if (state === undefined) return { mode, ...health };
      return { mode, ...health, state, recoveredAtMs: standing?.recoveredAtMs };
    }
    case "none":
      return undefined;
  }
}
