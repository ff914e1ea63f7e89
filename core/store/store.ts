import { setTimeout as sleep } from "node:timers/promises";
import { StoreUnavailable } from "../ports/store-faults";
import { failedShardMaxBytes, findOverbooking, planMemory } from "../domain/memory-budget";
import { createBacklog } from "./backlog";
import { createChangeLog } from "./change-log";
import { createRedisClock } from "./clock";
import { createDeliveryLog } from "./delivery-log";
import { createDurability } from "./durability";
import { createEventTraces } from "./event-traces";
import { createFailedEvents } from "./failed-events";
import { createFollowLog } from "./follow-log";
import { createFunctions } from "./functions";
import { createGroups } from "./groups";
import { createHeldEvents } from "./held-events";
import { createRequestCounts } from "./request-counts";
import { createInboundLog, type InboundLogOptions } from "./inbound-log";
import { createKeys } from "./keys";
import { createInstallation } from "./installation";
import { createLeases } from "./leases";
import { checkMark, keepMark, reportMigration } from "./mark";
import { createOperatorOutbox } from "./operator-outbox";
import { createOutboundEvents, type OutboundEventsOptions } from "./outbound-events";
import { errorReply } from "./redis/connection";
import { connectRedis, type Redis } from "./redis/redis";
import { findAdvice, type RedisAdvice } from "./redis/advice";
import { readMemory, readShardMemory } from "./memory";
import { createPollWatch } from "./poll-watch";
import { createPushOffers } from "./push-handoff";
import { createPushQueue } from "./push-queue";
import { checkAddressFirst, createOperatorTestLimits, createRequestLimits } from "./limits";
import { createSealedEntries } from "./sealed-entries";
import type { SecretBox } from "./secret-box";
import { createSecretKeys } from "./secret-keys";
import { listenForWakes } from "./wakes";
import { createWorkspaceStates } from "./workspace-states";
import { createWorkspaces } from "./workspaces";

/** Core's ports, implemented with Redis. */
export type Store = Awaited<ReturnType<typeof openStore>>;

export interface StoreOptions extends InboundLogOptions, OutboundEventsOptions {
  readonly redisUrl: string;
  /**
   * Additional root certificates, in PEM, for connections to Redis. New connections use the current elements of the
   * list.
   */
  readonly redisRoots?: readonly Buffer[] | undefined;
  /** Number of replicas that must confirm a write before core confirms the write; 0 by default. */
  readonly redisWaitReplicas?: number;
  readonly shards: number;
  readonly secretBox: SecretBox;
  /**
   * Called with each connection error, and with each error reply that delays the start, e.g. while Redis loads its
   * data.
   */
  onError(error: Error): void;
  /**
   * Called at the start if the bounds are too large for the memory of Redis (see `findOverbooking`).
   */
  onOverbooking?(advice: string): void;
  /** Called at the start, with each piece of advice about Redis settings. */
  onAdvice?(advice: RedisAdvice): void;
  /** Called at the first start after a migration, with the number of events that the migration could not convert. */
  onMigrated?(unserved: number): void;
}

/**
 * Connects to Redis. Waits without a time limit until Redis is available. Throws `UnfitStore` when the store was created
 * with a different number of shards, or when its data has a different format.
 */
export async function openStore(options: StoreOptions) {
  const redis = await connectRedis({
    url: options.redisUrl,
    roots: options.redisRoots,
    waitReplicas: options.redisWaitReplicas,
    onError: options.onError,
    meter: options.meter,
  });
  const following = new AbortController();

  try {
    const { shards, redisMemoryBytes = 0 } = options;
    const keys = createKeys(shards);
    // This check comes first, because core must not write to a store of another format.
    await onceAvailable(options, () => keepMark(redis, shards));
    const memory = await onceAvailable(options, () => readShardMemory(redis, keys, redisMemoryBytes));
    const bounds = { ...planMemory(memory, options), failedShardMaxBytes: failedShardMaxBytes(memory) };
    const functions = createFunctions(redis, options.meter);
    await onceAvailable(options, () => functions.load());
    await onceAvailable(options, () => reportMigration(redis, functions, shards, options.onMigrated));
    for (const advice of await findAdvice(redis)) options.onAdvice?.(advice);
    const overbooking = findOverbooking(memory, bounds);
    if (overbooking !== undefined) options.onOverbooking?.(overbooking);
    const clock = await onceAvailable(options, () => createRedisClock(redis));
    const wakes = await listenForWakes(redis);
    void clock.follow(following.signal);
    const requestLimits = createRequestLimits(functions, keys, options.limits);
    const inboundLog = createInboundLog(functions, keys, { ...options, ...bounds });
    const requestCounts = createRequestCounts(functions, keys);
    const pushOffers = createPushOffers();
    const heldEvents = createHeldEvents(redis, functions, keys, options.limits);
    return {
      now: clock.now,
      requestLimits,
      workspaces: createWorkspaces(redis, functions, keys, options.secretBox),
      secretKeys: createSecretKeys(redis, functions, keys, options.secretBox, clock.now),
      inboundLog: redis.isOneMaster
        ? inboundLog
        : { ...inboundLog, append: checkAddressFirst(requestLimits, inboundLog.append) },
      heldEvents: redis.isOneMaster
        ? heldEvents
        : { page: checkAddressFirst(requestLimits, heldEvents.page) },
      outboundEvents: createOutboundEvents(functions, keys, { ...options, ...bounds }, pushOffers),
      followLog: createFollowLog(functions, keys, wakes),
      groups: createGroups(functions, keys),
      pushQueue: createPushQueue(functions, keys, wakes, bounds.failedShardMaxBytes),
      pushHandoff: pushOffers,
      pollWatch: createPollWatch(functions, keys),
      workspaceStates: createWorkspaceStates(functions, keys),
      operatorOutbox: createOperatorOutbox(functions, keys),
      operatorTestLimits: createOperatorTestLimits(functions, keys),
      changeLog: createChangeLog(redis, functions, keys),
      sealedEntries: createSealedEntries(functions, keys),
      deliveryLog: createDeliveryLog(functions, keys, clock.now, bounds.failedShardMaxBytes),
      eventTraces: createEventTraces(functions, keys, clock.now),
      failedEvents: createFailedEvents(functions, keys, { ...options, ...bounds }),
      leases: createLeases(functions, keys),
      backlog: createBacklog(functions, keys),
      durability: createDurability(redis, keys),
      installation: createInstallation(redis, keys, clock.now, redisMemoryBytes),
      hourCounts: requestCounts.hourCounts,
      refusedRequests: requestCounts.refusedRequests,
      /** The bounds on the sizes of queues and logs that are in effect. */
      bounds,
      /** Returns the memory of each master. */
      readMemory: () => readMemory(redis, redisMemoryBytes),
      ...createProbes(redis, shards),
      async close(): Promise<void> {
        following.abort();
        await requestCounts.close();
        await redis.close();
      },
    };
  } catch (error) {
    await redis.close();
    throw error;
  }
}

function createProbes(redis: Redis, shards: number) {
  return {
    /**
     * Throws when a master does not answer, or when the master that stores the mark rejects writes. Throws `UnfitStore`
     * when the mark has changed, so that this release can no longer use the store.
     */
    async probe(): Promise<void> {
      await Promise.all([keepMark(redis, shards), redis.everywhere(["PING"])]);
    },
    /** Throws `UnfitStore` when the mark has changed. Asks only one master. */
    checkMark: () => checkMark(redis, shards),
  };
}

const AGAIN_MS = 250;

/** Repeats `ask` until Redis is available. Redis may be loading its data, or failing over. */
async function onceAvailable<T>({ onError }: StoreOptions, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      // The connection itself reports connection errors, so only error replies are reported here.
      if (errorReply(error) !== undefined) onError(error);
      await sleep(AGAIN_MS);
    }
  }
}
