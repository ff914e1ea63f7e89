import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Redis } from "../redis/redis";
import { asText } from "../redis/reply";

/** The key that contains the token of the process that migrates the store. */
const LOCK_KEY = "cb:migration";
const LOCK_MS = 10_000;
const RENEW_EVERY_MS = 2_000;
const LOOK_EVERY_MS = 500;

/** Thrown when another process migrates the store. */
export class MigrationLocked extends Error {}

/**
 * Allows one migration at a time. Waits until the lock of a migration that was killed has expired.
 *
 * @param onWait called once if another process has the lock
 */
export async function lockMigration(redis: Redis, onWait: () => void) {
  const token = randomBytes(8).toString("hex");
  const took = (): Promise<unknown> =>
    redis.command(LOCK_KEY, ["SET", LOCK_KEY, token, "NX", "PX", String(LOCK_MS)]);
  const began = performance.now();
  while ((await took()) === null) {
    if (performance.now() - began > LOCK_MS + RENEW_EVERY_MS)
      throw new MigrationLocked("another process migrates this Redis: wait until it has finished");
    if (performance.now() - began > LOOK_EVERY_MS) onWait();
    await sleep(LOOK_EVERY_MS);
  }
  let renewed = performance.now();

  return {
    /**
     * Renews the lock if necessary. Resolves to true if the lock had expired, so that another migration may have run in
     * the meantime. Throws `MigrationLocked` when another process has the lock.
     */
    async renew(): Promise<boolean> {
      if (performance.now() - renewed < RENEW_EVERY_MS) return false;
      const now = performance.now();
      const holder = await redis.command(LOCK_KEY, ["GET", LOCK_KEY]);
      const isOwn = holder === null ? (await took()) !== null : asText(holder) === token;
      if (!isOwn)
        throw new MigrationLocked("another process has begun to migrate this Redis: this process stops");
      await redis.command(LOCK_KEY, ["PEXPIRE", LOCK_KEY, String(LOCK_MS)]);
      renewed = now;
      return holder === null;
    },
    async release(): Promise<void> {
      const holder = await redis.command(LOCK_KEY, ["GET", LOCK_KEY]);
      if (holder !== null && asText(holder) === token) await redis.command(LOCK_KEY, ["DEL", LOCK_KEY]);
    },
  };
}
