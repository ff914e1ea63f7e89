import { GROUPS_MAX, GROUP_STREAMS_MAX } from "../domain/bounds";
import type { FollowLog, LogEntry } from "../ports/follow-log";
import type { Member } from "../ports/leases";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import { createLeases } from "./leases";
import type { Reply } from "./redis/redis";
import { asBytes, asList, asNumber, asText } from "./redis/reply";
import type { Wakes } from "./wakes";

/** The opener of a group whose token is unknown: see UNKNOWN_TOKEN in functions/groups.lua. */
const UNKNOWN_OPENER = { tokenName: "?", groupsMax: GROUPS_MAX };

function toEntry(reply: Reply): LogEntry {
  const [entryId, attempt, workspaceId, event, traceparent] = asList(reply);
  const id = asText(entryId);
  return {
    entryId: id,
    attempt: asNumber(attempt),
    workspaceId: asText(workspaceId),
    // The first part of an entry's id is the time at which Redis stored the entry, in ms.
    receivedAtMs: Number(id.slice(0, id.indexOf("-"))),
    event: asBytes(event),
    traceparent: traceparent === undefined ? undefined : asText(traceparent),
  };
}

export function createFollowLog(functions: Functions, keys: Keys, wakes: Wakes): FollowLog {
  const streamsMax = Math.max(GROUP_STREAMS_MAX, keys.shards);

  /** Returns the ids of the member's workspaces in a shard, as one text; "*" for all workspaces. */
  function scopeOf({ workspaces }: Member, shard: number): string {
    if (workspaces === undefined) return "*";
    return [...workspaces].filter((id) => keys.shard(id) === shard).join(",");
  }

  async function again(
    member: Member,
    shard: number,
    count: number,
    after: string,
    entryIds: readonly string[],
  ): Promise<{ readonly entries: readonly LogEntry[]; readonly last: string | undefined } | undefined> {
    const { group, token } = member;
    const args = [group, token, scopeOf(member, shard), String(count), after, ...entryIds];
    const reply = await functions.call("read_again", keys.prefix(shard), args);
    if (reply === null) return undefined;
    const [last, ...entries] = asList(reply);
    return { entries: entries.map(toEntry), last: asText(last) || undefined };
  }

  return {
    ...createLeases(functions, keys, streamsMax),
    streamsMax,
    async open(group, { tokenName, groupsMax } = UNKNOWN_OPENER) {
      const args = [group, tokenName, String(groupsMax), String(GROUPS_MAX)];
      const [state, made] = asList(await functions.call("register_group", keys.registry, args));
      if (made === undefined) return asNumber(state) < 0 ? "all-full" : "token-full";
      const opening = keys.prefixes.map((prefix) =>
        functions.call("open_group", prefix, [group, asText(made)]),
      );
      await Promise.all(opening);
      return "opened";
    },
    async readNew(member, shard, count) {
      const { group, token } = member;
      const args = [group, token, scopeOf(member, shard), String(count)];
      const reply = await functions.call("read_new", keys.prefix(shard), args);
      if (reply === null) return undefined;
      const [read, ...entries] = asList(reply);
      return { entries: entries.map(toEntry), isEnd: asNumber(read) < count };
    },
    readAgain: (member, shard, count, after) => again(member, shard, count, after ?? "-", []),
    async readEntries(member, shard, entryIds) {
      const read = await again(member, shard, 0, "-", entryIds);
      return read?.entries;
    },
    async ack(group, shard, entryIds) {
      if (entryIds.length > 0) await functions.call("ack", keys.prefix(shard), [group, ...entryIds]);
    },
    async deadLetter(group, { shard, entryId, workspaceId, attempt, reason }) {
      const args = [group, entryId, workspaceId, String(attempt), reason];
      await functions.call("dead_letter", keys.prefix(shard), args);
    },
    onWake: (wake) => wakes.on("in", wake),
  };
}
