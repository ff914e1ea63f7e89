import { pushHealth, type PushHealth } from "../domain/push-health";
import { deliveryMode, type Workspace } from "../domain/workspace";
import type { Clock } from "../ports/clock";
import type { DeliveryLog } from "../ports/delivery-log";
import type { PollHealth, PollWatch } from "../ports/poll-watch";

export interface HealthContext {
  readonly now: Clock;
  readonly deliveryLog: DeliveryLog;
  readonly pollWatch: PollWatch;
}

/** How delivery to a workspace goes, by its mode; undefined when it gets no events. */
export type WorkspaceHealth =
  ({ readonly mode: "poll" } & PollHealth) | ({ readonly mode: "push" } & PushHealth) | undefined;

/** All that the log of a workspace keeps. */
export const LOGGED_MAX = 1_000;

export async function readHealth(context: HealthContext, workspace: Workspace): Promise<WorkspaceHealth> {
  const mode = deliveryMode(workspace);
  switch (mode) {
    case "poll":
      return { mode, ...(await context.pollWatch.health(workspace.id)) };
    case "push": {
      const deliveries = await context.deliveryLog.read(workspace.id, LOGGED_MAX, undefined);
      return { mode, ...pushHealth(deliveries, context.now()) };
    }
    case "none":
      return undefined;
  }
}
