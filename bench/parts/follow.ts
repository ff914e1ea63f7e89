import { createWorkspaces } from "../core-clients";
import { backlogSide } from "../load/backlog";
import type { Part } from "../part";
import { alternate, resultOf } from "../slices";
import { startService } from "../service";
import { connectToRedis } from "../store";

const WORKSPACES = 64;
const EVENTS = 5_000;
const WINDOW = 100;

/**
 * Compares a backlog of one workspace with a backlog of many workspaces. The cost shows the effect of the limit on one
 * workspace's share of the window.
 */
export const follow: Part = {
  name: "follow",
  what: `following a backlog of ${EVENTS} events of one workspace, compared with ${WORKSPACES} workspaces`,
  async run(context) {
    const service = await startService(context);
    const redis = await context.scope.own(connectToRedis(service.redisUrl), (client) => client.destroy());
    const workspaces = await createWorkspaces(service.clients, WORKSPACES);
    const backlog = { count: EVENTS, window: WINDOW };
    const comparison = await alternate(context, {
      unit: "events",
      names: { ours: "one workspace:", reference: `${WORKSPACES} workspaces:` },
      ours: backlogSide(service, redis, workspaces.slice(0, 1), { group: "one", ...backlog }),
      reference: backlogSide(service, redis, workspaces, { group: "many", ...backlog }),
    });
    return resultOf(comparison);
  },
};
