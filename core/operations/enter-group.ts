import type { FollowLog } from "../ports/follow-log";
import type { Member } from "../ports/leases";

/**
 * Makes a stream a member of its group, and the group begin now where it is new. False when the group is full: that is
 * found out first, so that a refused stream costs one call of the store.
 *
 * Rejects with StoreUnavailable; then the stream is no member.
 */
export async function enterGroup(log: FollowLog, member: Member): Promise<boolean> {
  if ((await log.join(member, true)) === "full") return false;
  try {
    await log.open(member.group);
  } catch (error) {
    await log.leave(member).catch(() => undefined);
    throw error;
  }
  return true;
}
