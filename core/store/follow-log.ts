import { GROUPS_MAX, GROUP_STREAMS_MAX } from "../domain/bounds";
import type { FollowLog, LogEntry, ParkedEntry, ReadEntries, WindowShare } from "../ports/follow-log";
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

function toParked(reply: Reply): readonly ParkedEntry[] {
  const fields = asList(reply).map(asText);
  const parked: ParkedEntry[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2)
    parked.push({ entryId: fields[i] ?? "", workspaceId: fields[i + 1] ?? "" });
  return parked;
}

/** Decodes the events in the answer to a read, and the parked events if the read had a share of the window. */
function toEntries(entries: Reply, parked: Reply, share: WindowShare | undefined): ReadEntries {
  return { entries: asList(entries).map(toEntry), parked: share && toParked(parked) };
}

/** Returns the arguments that describe a share of the window: see `share_of` in functions/follow.lua. */
function shareArgs(share: WindowShare | undefined, count: number): readonly string[] {
  if (share === undefined) return [];
  const { room, least, counts } = share;
  // For each other workspace, every event of the batch fits, even if all events belong to that workspace. So the counts
  // of these workspaces do not matter.
  const busy = [...counts].filter(([, inFlight]) => inFlight + 2 * (count - 1) >= room);
  const pairs = busy.flatMap(([id, inFlight]) => [id, inFlight === Infinity ? "waits" : String(inFlight)]);
  return [String(room), String(least), ...pairs];
}

export function createFollowLog(functions: Functions, keys: Keys, wakes: Wakes): FollowLog {
  const streamsMax = Math.max(GROUP_STREAMS_MAX, keys.shards);

  /**
   * Returns the ids of the member's workspaces in a shard, separated by commas; "*" if the member may follow all
   * workspaces.
   */
  function scopeOf({ workspaces }: Member, shard: number): string {
    if (workspaces === undefined) return "*";
    return [...workspaces].filter((id) => keys.shard(id) === shard).join(",");
  }

  async function again(
    member: Member,
    shard: number,
    count: number,
    after: string,
    {
      entryIds = [],
      share,
    }: { readonly entryIds?: readonly string[]; readonly share?: WindowShare | undefined },
  ): Promise<(ReadEntries & { readonly last: string | undefined }) | undefined> {
    const { group, token } = member;
    const more = [...shareArgs(share, count), ...entryIds];
    const args = [group, token, scopeOf(member, shard), String(count), after, ...more];
    const reply = await functions.call("read_again", keys.prefix(shard), args);
    if (reply === null) return undefined;
    const [last, entries = [], parked = []] = asList(reply);
    return { ...toEntries(entries, parked, share), last: asText(last) || undefined };
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
    async readNew(member, shard, count, share) {
      const { group, token } = member;
      const args = [group, token, scopeOf(member, shard), String(count), ...shareArgs(share, count)];
      const reply = await functions.call("read_new", keys.prefix(shard), args);
      if (reply === null) return undefined;
      const [read, entries = [], parked = []] = asList(reply);
      return { ...toEntries(entries, parked, share), isEnd: asNumber(read) < count };
    },
    readAgain: (member, shard, count, after, share) => again(member, shard, count, after ?? "-", { share }),
    async readEntries(member, shard, entryIds) {
      const read = await again(member, shard, 0, "-", { entryIds });
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
