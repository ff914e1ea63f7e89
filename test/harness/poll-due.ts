import { createKeys } from "../../core/store/keys";
import { connectRedis } from "../../core/store/redis/redis";

export type PollDue = Awaited<ReturnType<typeof openPollDue>>;

/**
 * Opens the store of a running service, to read and change the times at which workspaces become failing. Tests can
 * change these times instead of waiting for 5 minutes.
 */
export async function openPollDue({ url }: { readonly url: string }) {
  const redis = await connectRedis({ url, onError: () => undefined });
  const keys = createKeys(16);
  const due = (workspaceId: string): string => `${keys.prefix(keys.shard(workspaceId))}:due`;
  return {
    redis,
    /**
     * Returns the time, in ms since the epoch, at which the workspace will become failing unless its bridge polls;
     * undefined if no event is waiting.
     */
    async of(workspaceId: string) {
      const score = await redis.command("", ["ZSCORE", due(workspaceId), workspaceId]);
      return score === null ? undefined : Number(score);
    },
    /** Moves the time at which the workspace becomes failing `ms` milliseconds earlier. */
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
