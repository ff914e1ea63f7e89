import type { Members } from "../state/members";

interface InviteParts {
  readonly members: Pick<Members, "identityOf" | "isUnknown" | "forgetAccount">;
  lower(name: string): string;
  /** Asks the server for the account of a member. */
  lookUp(nick: string): Promise<void>;
}

/**
 * Returns whether a member may invite the bridge, according to the entries of IRC_ALLOW_INVITES. Asks the server for the
 * member's account if the answer depends on it.
 */
export function mayInvite(
  allowed: readonly string[],
  nick: string,
  { members, lower, lookUp }: InviteParts,
): boolean | Promise<boolean> {
  if (allowed.includes("*")) return true;
  const entries = allowed.map((entry) => lower(entry));
  const isAllowed = (): boolean => entries.includes(members.identityOf(nick).id);
  const needsAccount = entries.some((entry) => entry.startsWith("account:"));
  if (!needsAccount || !members.isUnknown(nick)) return isAllowed();
  // Another person may have taken over the nick, and the server may not answer.
  members.forgetAccount(nick);
  return lookUp(nick).then(isAllowed);
}
