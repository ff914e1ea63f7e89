import type { HealthState } from "../../contract/health-states";
import type { LoggedDelivery } from "../domain/delivery";
import { pollState } from "../domain/health-state";
import { pushHealth, type PushHealth } from "../domain/push-health";
import { deliveryMode, type Workspace } from "../domain/workspace";
import type { Clock } from "../ports/outside";
import { LOGGED_MAX, type DeliveryLog } from "../ports/delivery-log";
import type { InboundLog } from "../ports/inbound-log";
import type { PollHealth, PollWatch } from "../ports/poll-watch";

export interface HealthContext {
  readonly now: Clock;
  readonly deliveryLog: DeliveryLog;
  readonly inboundLog: Pick<InboundLog, "firstAtMs">;
  readonly pollWatch: PollWatch;
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

/** @param readPushes reads the logged deliveries of a push workspace, newest first */
export async function readHealth(
  context: HealthContext,
  workspace: Workspace,
  readPushes = (): Promise<readonly LoggedDelivery[]> =>
    context.deliveryLog.read(workspace.id, LOGGED_MAX, undefined),
): Promise<WorkspaceHealth> {
  const mode = deliveryMode(workspace);
  const firstPost = () => context.inboundLog.firstAtMs(workspace.id);
  switch (mode) {
    case "poll": {
      const [health, firstPostAtMs] = await Promise.all([
        context.pollWatch.health(workspace.id),
        firstPost(),
      ]);
      return { mode, state: pollState(health, context.now()), ...health, firstPostAtMs };
    }
    case "push": {
      const [pushes, firstPostAtMs] = await Promise.all([readPushes(), firstPost()]);
      return { mode, ...pushHealth(pushes, context.now()), firstPostAtMs };
    }
    case "none":
      return undefined;
  }
}
