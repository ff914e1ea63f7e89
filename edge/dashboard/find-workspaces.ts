import { status } from "@grpc/grpc-js";
import { UUID_FORM } from "../../contract/forms";
import type { WorkspaceState } from "../../contract/workspace-states";
import { WORKSPACE_STATE_CODES } from "../../proto/codes";
import { WorkspaceOrder } from "../../proto/gen/chatbridge/v1/workspace";
import { matchesWords } from "../../proto/json/match-workspace";
import type { StateCounts, WorkspacePage, WorkspaceShape } from "../../proto/json/shapes";
import { toStateCounts, toSummaryShapes, toWorkspaceShape } from "../../proto/json/workspace-json";
import { isServiceError } from "./core-answer";
import type { Operator } from "./workspace-client";

/**
 * Number of workspaces that a search reads with each call to core. Core cannot search workspaces, so the edge lists and
 * filters them.
 */
const LOOK_AT_ONCE = 1_000;
const LOOK_THROUGH_MAX = 10_000;
const ENOUGH_FOUND = 50;

/** The workspaces to list. */
export interface Wanted {
  readonly state: WorkspaceState | undefined;
  /** The `next` of the previous page; empty for the first page. */
  readonly after: string;
}

/** Thrown when core runs an older release, which cannot list the workspaces that are in a given state. */
export class CoreTooOld extends Error {
  override readonly name = "CoreTooOld";
}

/**
 * Returns a page of workspaces, the most urgent states first, with their summaries and the number of workspaces in each
 * state.
 */
export async function listWorkspaces(
  operator: Operator,
  wanted: Wanted,
  pageSize: number,
): Promise<WorkspacePage> {
  const [page, counts] = await Promise.all([
    listPage(operator, wanted, pageSize, true),
    readCounts(operator),
  ]);
  if (counts === null && wanted.state !== undefined) throw new CoreTooOld();
  return { ...page, counts };
}

async function listPage(
  { call, methods }: Operator,
  { state, after }: Wanted,
  pageSize: number,
  withSummaries: boolean,
): Promise<Omit<WorkspacePage, "counts">> {
  const { workspaces, nextPageToken, notice, summaries } = await call(methods.listWorkspaces, {
    pageSize,
    pageToken: after,
    order: WorkspaceOrder.URGENCY,
    states: state === undefined ? [] : [WORKSPACE_STATE_CODES[state]],
    summaries: withSummaries,
  });
  return {
    workspaces: workspaces.map(toWorkspaceShape),
    next: nextPageToken || null,
    lookedThrough: workspaces.length,
    notice: notice || null,
    summaries: toSummaryShapes(summaries),
  };
}

/** Returns the number of workspaces in each state; null if core runs an older release. */
export async function readCounts({ call, methods }: Operator): Promise<StateCounts | null> {
  try {
    return toStateCounts(await call(methods.countWorkspaces, {}));
  } catch (error) {
    if (!isServiceError(error) || error.code !== status.UNIMPLEMENTED) throw error;
    return null;
  }
}

/**
 * Returns workspaces whose name, id, owner or target URL contains `words`, the most urgent states first. The search stops
 * after it has found `ENOUGH_FOUND` workspaces or read `LOOK_THROUGH_MAX` workspaces. `lookedThrough` is the number of
 * workspaces read, and `next` is the token to continue with. A complete id is looked up directly.
 */
export async function findWorkspaces(
  operator: Operator,
  words: string,
  wanted: Wanted,
): Promise<WorkspacePage> {
  const counts = await readCounts(operator);
  if (counts === null && wanted.state !== undefined) throw new CoreTooOld();
  if (UUID_FORM.test(words) && wanted.state === undefined) {
    return { ...(await findById(operator, words)), counts };
  }
  const found: WorkspaceShape[] = [];
  let lookedThrough = 0;
  let next: string | null = wanted.after;
  do {
    const page: Omit<WorkspacePage, "counts"> = await listPage(
      operator,
      { ...wanted, after: next },
      LOOK_AT_ONCE,
      false,
    );
    found.push(...page.workspaces.filter((workspace) => matchesWords(workspace, words)));
    lookedThrough += page.lookedThrough;
    ({ next } = page);
  } while (next !== null && found.length < ENOUGH_FOUND && lookedThrough < LOOK_THROUGH_MAX);
  return { workspaces: found, next, lookedThrough, notice: null, summaries: {}, counts };
}

async function findById(
  { call, methods }: Operator,
  workspaceId: string,
): Promise<Omit<WorkspacePage, "counts">> {
  const page = { next: null, lookedThrough: 1, notice: null, summaries: {} };
  try {
    const { workspace } = await call(methods.getWorkspace, { workspaceId });
    return { ...page, workspaces: [toWorkspaceShape(workspace)] };
  } catch (error) {
    if (!isServiceError(error) || error.code !== status.NOT_FOUND) throw error;
    return { ...page, workspaces: [] };
  }
}
