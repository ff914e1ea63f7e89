import type { FollowGroup } from "../../proto/gen/chatbridge/v1/workspace";
import type { ListedGroup } from "../operations/groups";

export function toGroupMessage(group: ListedGroup, nowMs: number): FollowGroup {
  const { members, oldestAtMs } = group;
  return {
    name: group.group,
    tokenName: group.tokenName ?? "",
    streams: members,
    unread: group.unread,
    unacked: group.unacked,
    oldestAt: oldestAtMs === undefined ? undefined : new Date(oldestAtMs),
    lastStreamAt: new Date(members > 0 ? nowMs : group.lastMemberAtMs),
  };
}
