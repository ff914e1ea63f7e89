import type { RefusalKind } from "../../contract/requests";
import { parseWorkspaceId } from "../domain/workspace";
import type { HourCounts } from "../ports/hour-counts";
import type { Workspaces } from "../ports/workspaces";
import type { Refusal } from "./refusal";

export interface NoteContext {
  readonly workspaces: Workspaces;
  readonly hourCounts: HourCounts;
}

const KINDS: Readonly<Record<Refusal["refused"], RefusalKind>> = {
  "address-limit": "address-limit",
  "unknown-workspace": "disconnected",
  signature: "signature",
  timestamp: "timestamp",
  "workspace-limit": "workspace-limit",
  invalid: "invalid",
  "push-workspace": "push-workspace",
  "secret-unreadable": "secret-unreadable",
};

/**
 * Counts the outcome of a bridge's request. A refusal is counted only for a workspace that core has in its cache: core
 * reads the record of a workspace for its first request, and a request for any other id costs no call to the store.
 */
export function noteRequest(
  { workspaces, hourCounts }: NoteContext,
  workspaceId: string,
  outcome: "post" | "poll" | Refusal,
): void {
  const id = parseWorkspaceId(workspaceId);
  if (id === undefined) return;
  if (typeof outcome === "string") return hourCounts.add(id, outcome);
  const workspace = workspaces.recall(id)?.workspace;
  if (workspace?.platform === "custom") hourCounts.add(id, KINDS[outcome.refused]);
}
