import { createKeys } from "../../core/store/keys";
import { connectRedis } from "../../core/store/redis";

export type PollDue = Awaited<ReturnType<typeof openPollDue>>;

/** When workspaces of a running service come to fail, read and moved in its store: nobody waits five minutes. */
export async function openPollDue({ url }: { readonly url: string }) {
  const redis = await connectRedis({ url, onError: () => undefined });
  const keys = createKeys(16);
  const due = (workspaceId: string): string => `${keys.prefix(keys.shard(workspaceId))}:due`;
  return {
    redis,
    /** When the workspace comes to fail, ms since the epoch; undefined while nothing waits. */
    async of(workspaceId: string) {
      const score = await redis.command("", ["ZSCORE", due(workspaceId), workspaceId]);
      return score === null ? undefined : Number(score);
    },
    /** Makes it as if so many ms had passed for the workspace. */
    async pass(workspaceId: string, ms: number) {
      await redis.command("", ["ZINCRBY", due(workspaceId), String(-ms), workspaceId]);
    },
    /** Makes it as if the last poll had come so many ms earlier. */
    async polledEarlier(workspaceId: string, ms: number) {
      const state = `${keys.prefix(keys.shard(workspaceId))}:st:${workspaceId}`;
      await redis.command(state, ["HINCRBY", state, "polled", String(-1_000 * ms)]);
    },
    close: () => redis.close(),
  };
}
