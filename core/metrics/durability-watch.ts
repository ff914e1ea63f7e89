import type { Metrics, Read } from "../../runtime/metrics";
import { createWaker } from "../domain/waker";
import {
  PERSISTENCE_STEPS,
  type BackupTimes,
  type Durability,
  type ServerPersistence,
} from "../ports/durability";
import { StoreUnavailable } from "../ports/store-faults";

const LOOK_EVERY_MS = 5_000;

/** Adds metrics of the protection against data loss in Redis: writes of Redis to its disk, and backups. */
export function addDurabilityMetrics({ gauge }: Metrics) {
  let servers: readonly ServerPersistence[] = [];
  let backups: BackupTimes | undefined;

  const persistence: Read = () =>
    servers.flatMap(({ server, succeeded }) =>
      PERSISTENCE_STEPS.map((step) => ({ labels: { server, step }, value: succeeded[step] ? 1 : 0 })),
    );
  const appendOnly: Read = () =>
    servers.flatMap(({ server, appendOnlyBytes }) =>
      appendOnlyBytes === undefined ? [] : [{ labels: { server }, value: appendOnlyBytes }],
    );
  gauge(
    "chatbridge_core_redis_persistence_ok",
    "1 if the last write of Redis to its disk succeeded, otherwise 0, by master and step.",
    persistence,
  );
  gauge("chatbridge_core_redis_append_only_bytes", "Bytes of each master's append-only file.", appendOnly);
  gauge(
    "chatbridge_core_backup_timestamp_seconds",
    "Time of the last complete backup of the data, in seconds since the epoch; 0 for never.",
    () => backups?.completeAt,
  );
  gauge(
    "chatbridge_core_backup_failed_timestamp_seconds",
    "Time of the last failed backup of the data, in seconds since the epoch; 0 if the last backup was complete.",
    () => backups?.failedAt,
  );

  return {
    /**
     * Reads the values every few seconds until `signal` is aborted. Keeps the last values while Redis is unavailable.
     */
    async watch({ readPersistence, readBackups }: Durability, signal: AbortSignal): Promise<void> {
      const waker = createWaker();
      signal.addEventListener("abort", waker.wake, { once: true });
      while (!signal.aborted) {
        [servers, backups] = await Promise.all([
          unlessAway(readPersistence(), servers, []),
          unlessAway(readBackups(), backups, undefined),
        ]);
        await waker.wait(LOOK_EVERY_MS);
      }
    },
  };
}

/**
 * Returns the read value. Returns `last` while Redis is unavailable, and `unknown` if the Redis user lacks a
 * permission.
 */
async function unlessAway<T>(reading: Promise<T>, last: T, unknown: T): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    return error instanceof StoreUnavailable ? last : unknown;
  }
}
