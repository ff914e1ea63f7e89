import type { ChangeName } from "../../contract/changes";
import type { Workspace } from "./workspace";

/** A change to a workspace, for the log of changes (the audit log). */
export interface Change {
  /** Name of the token with which the change was made. */
  readonly by: string;
  readonly change: ChangeName;
  /** The values before and after the change, as a text of at most `DETAIL_MAX_CHARACTERS`. Never contains a secret. */
  readonly detail: string;
}

/** An entry in the log of changes. */
export interface LoggedChange extends Change {
  readonly id: string;
  readonly atMs: number;
}

const DETAIL_MAX_CHARACTERS = 512;

export function createChange(by: string, change: ChangeName, detail = ""): Change {
  const isTooLong = detail.length > DETAIL_MAX_CHARACTERS;
  return { by, change, detail: isTooLong ? `${detail.slice(0, DETAIL_MAX_CHARACTERS - 1)}…` : detail };
}

/** Returns the changes that turn the workspace `before` into `after`. `before` is undefined for a new workspace. */
export function changesBetween(
  before: Workspace | undefined,
  after: Workspace,
  by: string,
): readonly Change[] {
  const changes: Change[] = [];
  const add = (change: ChangeName, detail?: string): void =>
    void changes.push(createChange(by, change, detail));
  if (before === undefined) {
    add("created", after.name);
  } else {
    if (before.name !== after.name) add("renamed", `${before.name} → ${after.name}`);
    if (before.ownerEmail !== after.ownerEmail) {
      add("email-changed", `${before.ownerEmail || "none"} → ${after.ownerEmail || "none"}`);
    }
    if (!before.connected && after.connected) add("connected");
    else if (before.connected && !after.connected) add("disconnected");
    else if (before.secrets[0]?.value !== after.secrets[0]?.value) add("secret-rotated");
  }
  const targetUrl = before?.targetUrl ?? "";
  if (targetUrl !== after.targetUrl) {
    if (after.targetUrl === "") add("target-url-cleared", withoutQuery(targetUrl));
    else add("target-url-set", withoutQuery(after.targetUrl));
  }
  const [from, to] = [before?.operatorEvents, after.operatorEvents];
  if (from?.address !== to?.address) {
    if (to === undefined) add("operator-events-cleared", withoutQuery(from?.address ?? ""));
    else add("operator-events-set", withoutQuery(to.address));
  } else if (from?.secrets[0]?.value !== to?.secrets[0]?.value) add("operator-events-secret-rotated");
  return changes;
}

/** Returns the URL without its query and fragment, because people put secrets there. */
function withoutQuery(url: string): string {
  const end = url.search(/[?#]/);
  return end < 0 ? url : `${url.slice(0, end)}?…`;
}
