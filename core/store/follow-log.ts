import type { FollowLog, GroupMember, LogEntry } from "../ports/follow-log";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Redis, Reply } from "./redis";
import { asBytes, asList, asNumber, asText } from "./reply";

/** How long a lease lasts that is not kept: how long a shard rests when its reader dies. */
export const LEASE_MS = 4_000;

const WAKE_CHANNEL = /^cb:\{s(\d+)\}:wake:in$/;

function toEntry(reply: Reply): LogEntry {
  const [entryId, attempt, workspaceId, event] = asList(reply);
  const id = asText(entryId);
  return {
    entryId: id,
    attempt: asNumber(attempt),
    workspaceId: asText(workspaceId),
    // The id of an entry begins with Redis's clock, in ms.
    receivedAtMs: Number(id.slice(0, id.indexOf("-"))),
    event: asBytes(event),
  };
}

export async function createFollowLog(redis: Redis, functions: Functions, keys: Keys): Promise<FollowLog> {
  const wakes = new Set<(shard: number) => void>();
  await redis.subscribe("cb:{s*}:wake:in", (channel) => {
    const shard = WAKE_CHANNEL.exec(channel)?.[1];
    if (shard !== undefined) for (const wake of wakes) wake(Number(shard));
  });
  const everyShard = Array.from({ length: keys.shards }, (_, shard) => keys.prefix(shard));
  const register = (group: string): string => keys.prefix(keys.shard(group));

  async function again(
    { group, token }: GroupMember,
    shard: number,
    count: number,
    after: string,
    entryIds: readonly string[],
  ): Promise<{ readonly entries: readonly LogEntry[]; readonly last: string | undefined } | undefined> {
    const args = [group, token, String(count), after, ...entryIds];
    const reply = await functions.call("read_again", keys.prefix(shard), args);
    if (reply === null) return undefined;
    const [last, ...entries] = asList(reply);
    return { entries: entries.map(toEntry), last: asText(last) || undefined };
  }

  return {
    shards: keys.shards,
    async open(group) {
      await Promise.all(everyShard.map((prefix) => functions.call("open_group", prefix, [group])));
    },
    async join({ group, consumer, token }, fresh) {
      const args = [group, consumer, token, fresh ? "1" : "0", String(LEASE_MS)];
      const [mine, ...alive] = asList(await functions.call("join_group", register(group), args));
      return asNumber(mine) === 1 ? alive.map(asText) : undefined;
    },
    async leave({ group, consumer, token }) {
      await functions.call("leave_group", register(group), [group, consumer, token]);
    },
    async takeLease({ group, token }, shard) {
      const taken = await functions.call("take_lease", keys.prefix(shard), [group, token, String(LEASE_MS)]);
      return asNumber(taken) === 1;
    },
    async dropLease({ group, token }, shard) {
      await functions.call("drop_lease", keys.prefix(shard), [group, token]);
    },
    async readNew({ group, token }, shard, count) {
      const reply = await functions.call("read_new", keys.prefix(shard), [group, token, String(count)]);
      return reply === null ? undefined : asList(reply).map(toEntry);
    },
    readAgain: (member, shard, count, after) => again(member, shard, count, after ?? "-", []),
    async readEntries(member, shard, entryIds) {
      const read = await again(member, shard, 0, "-", entryIds);
      return read?.entries;
    },
    async ack(group, shard, entryIds) {
      if (entryIds.length > 0) await functions.call("ack", keys.prefix(shard), [group, ...entryIds]);
    },
    onWake(wake) {
      wakes.add(wake);
      return () => wakes.delete(wake);
    },
  };
}
