import { FOLLOW_SHARE, LIMITED_FOLLOW_SHARE, type FollowShare } from "./bounds";

/** The program or person that makes a call, as described by the token's entry in core's settings. */
export interface Caller {
  /** The name of the token, for logs and the log of changes. */
  readonly name: string;
  /** The ids of the workspaces in the token's scope; undefined for all workspaces. */
  readonly workspaces: ReadonlySet<string> | undefined;
}

/** Whether a workspace is in the caller's scope. Other workspaces do not exist for the caller. */
export function isInScope({ workspaces }: Pick<Caller, "workspaces">, workspaceId: string): boolean {
  return workspaces === undefined || workspaces.has(workspaceId);
}

/** Returns how many groups of followers and `Follow` streams the caller can use. */
export function followShareOf({ workspaces }: Pick<Caller, "workspaces">): FollowShare {
  return workspaces === undefined ? FOLLOW_SHARE : LIMITED_FOLLOW_SHARE;
}

/** Whether a group is reserved for the games whose token has this name. */
export function isGroupOf(name: string, group: string): boolean {
  return group === name || group.startsWith(`${name}.`);
}

/**
 * Returns why a game must not follow a group; undefined if the game can follow it. For each group, core acks the events
 * outside the token's scope. So a game whose token has a different scope would lose events in that group.
 *
 * @param limitedNames names of the game tokens that are limited to some workspaces
 */
export function findGroupFault(
  { name, workspaces }: Caller,
  group: string,
  limitedNames: readonly string[],
): string | undefined {
  if (workspaces !== undefined) {
    if (isGroupOf(name, group)) return undefined;
    return `the token ${name} is limited to some workspaces: it can follow only the groups "${name}" and "${name}.<anything>"`;
  }
  const owner = limitedNames.find((each) => isGroupOf(each, group));
  return owner === undefined
    ? undefined
    : `the group is reserved for the token ${owner}, which is limited to some workspaces: use another group`;
}
