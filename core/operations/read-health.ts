import type { LoggedDelivery } from "../domain/delivery";
import { pushHealth, type PushHealth } from "../domain/push-health";
import { deliveryMode, type Workspace } from "../domain/workspace";
import type { Clock } from "../ports/outside";
import { LOGGED_MAX, type DeliveryLog, type PollHealth, type PollWatch } from "../ports/store";

export interface HealthContext {
  readonly now: Clock;
  readonly deliveryLog: DeliveryLog;
  readonly pollWatch: PollWatch;
}

/** The health of the polls or pushes of a workspace; undefined when the workspace gets no events. */
export type WorkspaceHealth =
  ({ readonly mode: "poll" } & PollHealth) | ({ readonly mode: "push" } & PushHealth) | undefined;

/** @param readPushes reads the logged deliveries of a push workspace, newest first */
export async function readHealth(
  context: HealthContext,
  workspace: Workspace,
  readPushes = (): Promise<readonly LoggedDelivery[]> =>
    context.deliveryLog.read(workspace.id, LOGGED_MAX, undefined),
): Promise<WorkspaceHealth> {
  const mode = deliveryMode(workspace);
  switch (mode) {
    case "poll":
      return { mode, ...(await context.pollWatch.health(workspace.id)) };
    case "push":
      return { mode, ...pushHealth(await readPushes(), context.now()) };
    case "none":
      return undefined;
  }
}
