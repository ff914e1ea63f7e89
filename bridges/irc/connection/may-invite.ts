import { LRUCache } from "lru-cache";
import type { Members } from "../state/members";

/** Minimum milliseconds between two requests for the same inviter's account, because each request delays a line. */
const ASK_GAP_MS = 30_000;
const ASKED_MAX = 1_000;

interface InviteParts {
  readonly members: Pick<Members, "identityOf" | "isUnknown" | "forgetAccount">;
  lower(name: string): string;
  /** Asks the server for the account of a member. */
  lookUp(nick: string): Promise<void>;
}

/**
 * Returns a function that tells whether a member may invite the bridge, according to the entries of IRC_ALLOW_INVITES.
 * If the answer depends on the member's account, the function asks the server, at most once in 30 seconds per member.
 */
export function inviteRule(allowed: readonly string[], { members, lower, lookUp }: InviteParts) {
  const asked = new LRUCache<string, true>({
    max: ASKED_MAX,
    ttl: ASK_GAP_MS,
    perf: { now: () => performance.now() },
  });
  return (nick: string): boolean | Promise<boolean> => {
    if (allowed.includes("*")) return true;
    const entries = allowed.map((entry) => lower(entry));
    const isAllowed = (): boolean => entries.includes(members.identityOf(nick).id);
    const needsAccount = entries.some((entry) => entry.startsWith("account:"));
    if (!needsAccount || !members.isUnknown(nick)) return isAllowed();
    // Another person may have taken over the nick. If the server does not answer, the old account must not count.
    members.forgetAccount(nick);
    if (asked.has(lower(nick))) return isAllowed();
    asked.set(lower(nick), true);
    return lookUp(nick).then(isAllowed);
  };
}
