/**
 * All changes of a workspace that core logs. The log and the JSON of the dashboard use these names. The enum `ChangeKind`
 * in the protos lists the same changes.
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

/** Maximum number of entries in a workspace's log of changes, besides `SENDS_LOGGED_MAX`. */
export const CHANGES_LOGGED_MAX = 200;
/**
 * Maximum number of entries "test-event-sent" and "events-sent-again" in a workspace's log of changes. They are counted
 * separately, so that they displace no other changes.
 */
export const SENDS_LOGGED_MAX = 50;
