import { GROUP_IDLE_MS } from "../domain/bounds";
import type { Backlog, GroupBacklog } from "../ports/backlog";
import type { Groups, RegisteredGroup } from "../ports/follow-log";

export interface GroupsContext {
  readonly groups: Groups;
  readonly backlog: Backlog;
  readonly followLog: { readonly shards: number };
}

/** A group of followers, and the sum of its backlogs in all shards. */
export interface ListedGroup extends RegisteredGroup, Omit<GroupBacklog, "group"> {}

/** Returns all groups of followers, in the order of their names. */
export async function listGroups({ groups, backlog, followLog }: GroupsContext): Promise<ListedGroup[]> {
  const found = await groups.refresh();
  const reading = Array.from({ length: followLog.shards }, (_, shard) => backlog.read(shard));
  const listed = new Map(
    found.map((each) => [
      each.group,
      { ...each, unread: 0, unacked: 0, oldestAtMs: undefined as number | undefined },
    ]),
  );
  for (const part of (await Promise.all(reading)).flatMap((shard) => shard.groups)) {
    const sum = listed.get(part.group);
    if (sum === undefined) continue;
    sum.unread += part.unread;
    sum.unacked += part.unacked;
    const oldestAtMs = Math.min(part.oldestAtMs ?? Infinity, sum.oldestAtMs ?? Infinity);
    sum.oldestAtMs = oldestAtMs === Infinity ? undefined : oldestAtMs;
  }
  return [...listed.values()].toSorted((a, b) => (a.group < b.group ? -1 : 1));
}

/** Removes a group from all shards, unless a stream follows the group ("held"). */
export async function deleteGroup(groups: Groups, group: string): Promise<"removed" | "held" | "missing"> {
  const isKnown = (await groups.refresh()).some((each) => each.group === group);
  const result = isKnown ? await groups.remove(group, 0) : "missing";
  return result === "completed" ? "removed" : result;
}

/**
 * Removes the groups that have had no member for `GROUP_IDLE_MS`, and completes other removals that are in progress or have
 * failed. Calls `onRemoved` with the name of each group that had no member for that time.
 */
export async function removeIdleGroups(groups: Groups, onRemoved: (group: string) => void): Promise<void> {
  for (const { group, members } of await groups.refresh()) {
    if (members === 0 && (await groups.remove(group, GROUP_IDLE_MS)) === "removed") onRemoved(group);
  }
}
