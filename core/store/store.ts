import type { Limits } from "../domain/contract";
import type { Clock } from "../ports/clock";
import type { DeliveryLog } from "../ports/delivery-log";
import type { FollowLog } from "../ports/follow-log";
import type { HeldEvents } from "../ports/held-events";
import type { InboundLog } from "../ports/inbound-log";
import type { Leases } from "../ports/leases";
import type { OutboundEvents } from "../ports/outbound-events";
import type { PollWatch } from "../ports/poll-watch";
import type { PushQueue } from "../ports/push-queue";
import type { RequestLimits } from "../ports/request-limits";
import type { Workspaces } from "../ports/workspaces";
import { createRedisClock } from "./clock";
import { createDeliveryLog } from "./delivery-log";
import { createFollowLog } from "./follow-log";
import { createFunctions } from "./functions";
import { createHeldEvents } from "./held-events";
import { createInboundLog } from "./inbound-log";
import { createKeys, SHARDS_KEY } from "./keys";
import { createLeases } from "./leases";
import { createOutboundEvents } from "./outbound-events";
import { connectRedis } from "./redis";
import { asText } from "./reply";
import { createPollWatch } from "./poll-watch";
import { createPushQueue } from "./push-queue";
import { createRequestLimits } from "./request-limits";
import type { SecretBox } from "./secret-box";
import { listenForWakes } from "./wakes";
import { createWorkspaces } from "./workspaces";

/** Everything that is kept in Redis, behind core's ports. */
export interface Store {
  readonly now: Clock;
  readonly requestLimits: RequestLimits;
  readonly workspaces: Workspaces;
  readonly inboundLog: InboundLog;
  readonly heldEvents: HeldEvents;
  readonly outboundEvents: OutboundEvents;
  readonly followLog: FollowLog;
  readonly pollWatch: PollWatch;
  readonly pushQueue: PushQueue;
  readonly deliveryLog: DeliveryLog;
  readonly leases: Leases;
  /** Throws when Redis cannot be read. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

export interface StoreOptions {
  readonly redisUrl: string;
  readonly shards: number;
  readonly inboundLogMax: number;
  readonly limits: Limits;
  readonly secretBox: SecretBox;
  onError(error: Error): void;
}

/** Connects, waiting for Redis as long as it takes. Throws when the store was made with another number of shards. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const redis = await connectRedis({ url: options.redisUrl, onError: options.onError });
  const following = new AbortController();

  /** The number of shards that is kept; it is set again where a Redis that came back empty has lost it. */
  async function keepShards(): Promise<string> {
    const shards = String(options.shards);
    const kept = await redis.command(SHARDS_KEY, ["SET", SHARDS_KEY, shards, "NX", "GET"]);
    return kept === null ? shards : asText(kept);
  }

  try {
    const keys = createKeys(options.shards);
    const functions = createFunctions(redis);
    await functions.load();
    const kept = await keepShards();
    if (kept !== String(options.shards)) {
      throw new Error(
        `SHARDS is ${options.shards}, but this Redis was first used with ${kept}: set SHARDS=${kept}`,
      );
    }
    const clock = await createRedisClock(redis);
    const wakes = await listenForWakes(redis);
    void clock.follow(following.signal);
    return {
      now: clock.now,
      requestLimits: createRequestLimits(functions, keys, options.limits),
      workspaces: createWorkspaces(redis, functions, keys, options.secretBox),
      inboundLog: createInboundLog(functions, keys, options.limits, options.inboundLogMax),
      heldEvents: createHeldEvents(functions, keys, options.limits),
      outboundEvents: createOutboundEvents(functions, keys),
      followLog: createFollowLog(functions, keys, wakes),
      pushQueue: createPushQueue(functions, keys, wakes),
      pollWatch: createPollWatch(functions, keys),
      deliveryLog: createDeliveryLog(functions, keys, clock.now),
      leases: createLeases(functions, keys),
      async probe() {
        await keepShards();
      },
      async close() {
        following.abort();
        await redis.close();
      },
    };
  } catch (error) {
    await redis.close();
    throw error;
  }
}
