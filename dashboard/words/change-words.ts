import type { ChangeName } from "../../contract/changes";

/** The text that the dashboard shows for each change. */
export const CHANGE_TEXTS: Readonly<Record<ChangeName, string>> = {
  created: "Created",
  renamed: "Renamed",
  "email-changed": "Owner's email changed",
  connected: "Connected",
  disconnected: "Disconnected",
  "secret-rotated": "Secret rotated",
  "target-url-set": "Target URL set",
  "target-url-cleared": "Target URL cleared",
  "test-event-sent": "Test event sent",
  "events-sent-again": "Events sent again",
  "operator-events-set": "Address for operator events set",
  "operator-events-cleared": "Address for operator events cleared",
  "operator-events-secret-rotated": "Secret for operator events rotated",
};
