import type { FollowLog, Member } from "../ports/store";

/**
 * Adds a stream to its group. A new group gets only the events that arrive from then on. Resolves with false when
 * the group is full. The size of the group is checked first, so that a rejected stream costs only one call to the
 * store.
 *
 * If the store is unavailable, rejects with `StoreUnavailable`. In that case, the caller must not call `follow`.
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
