/**
 * All kinds of changes to a workspace that core logs. The log of changes and the dashboard's JSON use these names. The
 * enum `ChangeKind` in the protos lists the same kinds.
 */
export const CHANGE_NAMES = [
  "created",
  "renamed",
  "email-changed",
  "connected",
  "disconnected",
  "secret-rotated",
  "target-url-set",
  "target-url-cleared",
  "test-event-sent",
  "events-sent-again",
  "operator-events-set",
  "operator-events-cleared",
  "operator-events-secret-rotated",
] as const;
export type ChangeName = (typeof CHANGE_NAMES)[number];

/**
 * Maximum number of entries in a workspace's log of changes, not counting the entries that `SENDS_LOGGED_MAX` limits.
 */
export const CHANGES_LOGGED_MAX = 200;
/**
 * Maximum number of "test-event-sent" and "events-sent-again" entries in a workspace's log of changes. These entries
 * are counted separately, so that they do not displace other changes.
 */
export const SENDS_LOGGED_MAX = 50;
