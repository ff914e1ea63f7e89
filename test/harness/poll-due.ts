import { createKeys } from "../../core/store/keys";
import { connectRedis } from "../../core/store/redis/redis";

export type PollDue = Awaited<ReturnType<typeof openPollDue>>;

/**
 * Opens the store of a running service, to read and change the times from which workspaces count as failing. So tests
 * do not have to wait 5 minutes.
 */
export async function openPollDue({ url }: { readonly url: string }) {
  const redis = await connectRedis({ url, onError: () => undefined });
  const keys = createKeys(16);
  const due = (workspaceId: string): string => `${keys.prefix(keys.shard(workspaceId))}:due`;
  return {
    redis,
    /**
     * Returns the time, in ms since the epoch, from which the workspace will count as failing unless its bridge
     * polls; undefined while no event is waiting.
     */
    async of(workspaceId: string) {
      const score = await redis.command("", ["ZSCORE", due(workspaceId), workspaceId]);
      return score === null ? undefined : Number(score);
    },
    /** Moves the time from which the workspace counts as failing `ms` milliseconds earlier. */
    async pass(workspaceId: string, ms: number) {
      await redis.command("", ["ZINCRBY", due(workspaceId), String(-ms), workspaceId]);
    },
    /** Moves the time of the workspace's last poll `ms` milliseconds earlier. */
    async polledEarlier(workspaceId: string, ms: number) {
      const state = `${keys.prefix(keys.shard(workspaceId))}:st:${workspaceId}`;
      await redis.command(state, ["HINCRBY", state, "polled", String(-1_000 * ms)]);
    },
    close: () => redis.close(),
  };
}
