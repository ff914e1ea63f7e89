import type { Redis } from "../../core/store/redis/redis";

/** The pattern of the keys that store the sessions and sign-in links of the dashboard. */
export const SEALED_KEYS = "cb:{s0}:sealed:*";

/** Makes the dashboard's sessions and sign-in links, which Redis stores, expire `ms` milliseconds earlier. */
export async function ageSessions(redis: Pick<Redis, "command">, ms: number): Promise<void> {
  const script = `for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
    local left = redis.call('PTTL', key) - tonumber(ARGV[2])
    if left <= 0 then redis.call('DEL', key) else redis.call('PEXPIRE', key, left) end
  end`;
  await redis.command("", ["EVAL", script, "0", SEALED_KEYS, String(ms)]);
}
