import { createChange, type Change } from "../domain/workspace-changes";
import type { ChangeLog } from "../ports/workspaces";

export interface SentLogContext {
  readonly changeLog: ChangeLog;
  /** Name of the caller's token, for the log of changes. */
  readonly by: string;
  /** Called after each change, so that core can log it. */
  onChanged(workspaceId: string, change: Change): void;
}

/** Logs that a test event was sent, or that events were sent again. */
export async function logSent(
  { changeLog, by, onChanged }: SentLogContext,
  workspaceId: string,
  what: "test-event-sent" | "events-sent-again",
  detail?: string,
): Promise<void> {
  const change = createChange(by, what, detail);
  await changeLog.append(workspaceId, change);
  onChanged(workspaceId, change);
}
