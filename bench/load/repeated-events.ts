import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../part";
import type { connectToRedis } from "../store";

export type Redis = Awaited<ReturnType<typeof connectToRedis>>;

const INBOUND_STREAMS = "cb:*:in";
const ACKED_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 50;

/** Appends the newest event of each workspace to the log again, until `ARGV[1]` events are appended in total. */
const REPEAT = `
  local newest, seen = {}, {}
  for _, entry in ipairs(redis.call('XREVRANGE', KEYS[1], '+', '-')) do
    local workspace = entry[2][2]
    if not seen[workspace] then newest[#newest + 1] = entry[2] end
    seen[workspace] = true
  end
  for i = 1, tonumber(ARGV[1]) do redis.call('XADD', KEYS[1], '*', unpack(newest[i % #newest + 1])) end`;

/**
 * Copies the inbound events inside Redis until there are about `count` events. This is much faster than sending POSTs.
 * Returns the number of events.
 */
export async function repeatEvents(redis: Redis, count: number): Promise<number> {
  const keys = await redis.keys(INBOUND_STREAMS);
  const lengths = await Promise.all(keys.map((key) => redis.xLen(key)));
  const sum = lengths.reduce((total, length) => total + length, 0);
  const copies = lengths.map((length) => Math.round((count / sum - 1) * length));
  await Promise.all(
    keys.map((key, i) => redis.eval(REPEAT, { keys: [key], arguments: [String(copies[i])] })),
  );
  return copies.reduce((total, each) => total + each, sum);
}

/** Waits until the group has acked all events that it has read. */
export async function untilAcked(redis: Redis, group: string): Promise<void> {
  const keys = await redis.keys(INBOUND_STREAMS);
  for (const end = performance.now() + ACKED_WITHIN_MS; performance.now() < end; await sleep(LOOK_EVERY_MS)) {
    const states = await Promise.all(keys.map((key) => redis.xPending(key, group)));
    if (states.every(({ pending }) => pending === 0)) return;
  }
  check(false, "some events were delivered, but not acked");
}
