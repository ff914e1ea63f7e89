import type { WorkspaceState } from "../../contract/workspace-states";
import type { Workspace } from "../domain/workspace";
import type { HourBucket, HourCounts } from "../ports/hour-counts";
import type { Standing, StateCounts, WorkspaceStates } from "../ports/workspace-states";
import type { WorkspacePage, Workspaces } from "../ports/workspaces";

export interface ListContext {
  readonly workspaces: Workspaces;
  readonly workspaceStates: WorkspaceStates;
  readonly hourCounts: Pick<HourCounts, "read">;
}

export interface WorkspaceSummary {
  readonly standing: Standing;
  readonly lastHour: readonly HourBucket[];
}

/** The ids of the workspaces that the caller can see; undefined for all workspaces. */
type Scope = ReadonlySet<string> | undefined;

/**
 * The page to list: either of all workspaces, newest first, or of the workspaces in some states, most urgent states
 * first.
 */
export interface WantedPage {
  readonly size: number;
  readonly after: string | undefined;
  /** Undefined for the newest first. */
  readonly states: ReadonlySet<WorkspaceState> | undefined;
}

/** Returns a page of workspaces; undefined when `after` is not a valid `next`. */
export async function listWorkspaces(
  { workspaces, workspaceStates }: Pick<ListContext, "workspaces" | "workspaceStates">,
  { size, after, states }: WantedPage,
  scope: Scope,
): Promise<WorkspacePage | undefined> {
  if (states === undefined) return workspaces.list(size, after, scope);
  const page = await workspaceStates.list(size, after, states, scope);
  return page && { workspaces: await readAll(workspaces, page.ids), next: page.next };
}

/** Returns the workspaces that exist and that the caller can see, in the order of `ids`. */
export async function readVisible(
  { workspaces }: Pick<ListContext, "workspaces">,
  ids: readonly string[],
  scope: Scope,
): Promise<readonly Workspace[]> {
  return readAll(
    workspaces,
    ids.filter((id) => scope === undefined || scope.has(id)),
  );
}

async function readAll(workspaces: Workspaces, ids: readonly string[]): Promise<readonly Workspace[]> {
  const records = await Promise.all(ids.map((id) => workspaces.read(id)));
  return records.flatMap((record) => record?.workspace ?? []);
}

/** Returns the summaries of workspaces, in the order of `listed`. Omits workspaces that no longer exist. */
export async function summarize(
  { workspaceStates, hourCounts }: Pick<ListContext, "workspaceStates" | "hourCounts">,
  listed: readonly Workspace[],
): Promise<readonly WorkspaceSummary[]> {
  if (listed.length === 0) return [];
  const ids = listed.map(({ id }) => id);
  const [standings, hours] = await Promise.all([workspaceStates.read(ids), hourCounts.read(ids)]);
  return standings.map((standing) => ({ standing, lastHour: hours.get(standing.id) ?? [] }));
}

export function countWorkspaces(
  { workspaceStates }: Pick<ListContext, "workspaceStates">,
  scope: Scope,
): Promise<StateCounts> {
  return workspaceStates.count(scope);
}
