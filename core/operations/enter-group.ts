import type { FollowLog, GroupOpened, GroupOpener } from "../ports/follow-log";
import type { Member } from "../ports/leases";

/** "full": the group has the maximum number of streams. */
export type GroupEntered = "full" | GroupOpened;

/**
 * Adds a stream to its group. A new group gets only the events that arrive from then on. The stream joins before the
 * group is opened: see functions/groups.lua. Unless the result is "opened", the stream is not in the group.
 *
 * If the store is unavailable, rejects with `StoreUnavailable`. In that case, the caller must not call `follow`.
 */
export async function enterGroup(log: FollowLog, member: Member, opener: GroupOpener): Promise<GroupEntered> {
  if ((await log.join(member, true)) === "full") return "full";
  let opened: GroupOpened | undefined;
  try {
    opened = await log.open(member.group, opener);
  } finally {
    if (opened !== "opened") await log.leave(member).catch(() => undefined);
  }
  return opened;
}
