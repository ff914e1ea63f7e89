import { randomBytes, randomUUID } from "node:crypto";
import { monotonicFactory } from "ulid";
import type { Clock, Ids } from "./ports/outside";

const SECRET_BYTES = 32;
const POOL_BYTES = 4096;

/**
 * Returns a source of random numbers that are at least 0 and less than 1. The source reads many bytes in one call,
 * because a ULID needs one number per character.
 */
function createRandomFractions(): () => number {
  let pool = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at === pool.length) {
      pool = randomBytes(POOL_BYTES);
      at = 0;
    }
    return (pool[at++] ?? 0) / 256;
  };
}

export function createIds(now: Clock): Ids {
  // The factory is monotonic, so ids from the same millisecond increase too, and cannot collide within one core.
  const ulid = monotonicFactory(createRandomFractions());
  return {
    event: () => `evt_${ulid(now())}`,
    message: () => `msg_${ulid(now())}`,
    workspace: () => randomUUID(),
    secret: () => randomBytes(SECRET_BYTES).toString("base64url"),
    token: () => randomUUID(),
  };
}
