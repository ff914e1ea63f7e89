import { createKeys } from "../../core/store/keys";
import { connectRedis, type Redis } from "../../core/store/redis";
import type { Service } from "./service";

/** When workspaces of a running service come to fail, read and moved in its store: nobody waits five minutes. */
export interface PollDue {
  /** When the workspace comes to fail, ms since the epoch; undefined while nothing waits. */
  of(workspaceId: string): Promise<number | undefined>;
  /** Makes it as if so many ms had passed for the workspace. */
  pass(workspaceId: string, ms: number): Promise<void>;
  /** Makes it as if the last poll had come so many ms earlier. */
  polledEarlier(workspaceId: string, ms: number): Promise<void>;
  redis: Redis;
  close(): Promise<void>;
}

export async function openPollDue({ url }: Service["redis"]): Promise<PollDue> {
  const redis = await connectRedis({ url, onError: () => undefined });
  const keys = createKeys(16);
  const due = (workspaceId: string): string => `${keys.prefix(keys.shard(workspaceId))}:due`;
  return {
    redis,
    async of(workspaceId) {
      const score = await redis.command("", ["ZSCORE", due(workspaceId), workspaceId]);
      return score === null ? undefined : Number(score);
    },
    async pass(workspaceId, ms) {
      await redis.command("", ["ZINCRBY", due(workspaceId), String(-ms), workspaceId]);
    },
    async polledEarlier(workspaceId, ms) {
      const state = `${keys.prefix(keys.shard(workspaceId))}:st:${workspaceId}`;
      await redis.command(state, ["HINCRBY", state, "polled", String(-1_000 * ms)]);
    },
    close: () => redis.close(),
  };
}
