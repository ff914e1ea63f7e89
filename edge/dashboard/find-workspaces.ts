import { status } from "@grpc/grpc-js";
import { UUID_FORM } from "../../contract/forms";
import { isServiceError } from "./core-answer";
import type { WorkspacePage, WorkspaceShape } from "../../proto/json/shapes";
import type { Operator } from "./workspace-client";
import { toWorkspaceShape } from "../../proto/json/workspace-json";

/**
 * Number of workspaces that a search reads with each call to core. Core cannot search workspaces, so the edge lists and
 * filters them.
 */
const LOOK_AT_ONCE = 1_000;
const LOOK_THROUGH_MAX = 10_000;
const ENOUGH_FOUND = 50;

export async function listWorkspaces(
  { call, methods }: Operator,
  pageSize: number,
  pageToken: string,
): Promise<WorkspacePage> {
  const { workspaces, nextPageToken, notice } = await call(methods.listWorkspaces, { pageSize, pageToken });
  return {
    workspaces: workspaces.map(toWorkspaceShape),
    next: nextPageToken || null,
    lookedThrough: workspaces.length,
    notice: notice || null,
  };
}

/**
 * Returns workspaces whose name, id, owner or target URL contains `words`, newest first. The search stops after it has
 * found `ENOUGH_FOUND` workspaces or read `LOOK_THROUGH_MAX` workspaces. `lookedThrough` is the number of workspaces
 * read, and `next` is the token to continue with. A complete id is looked up directly.
 */
export async function findWorkspaces(
  operator: Operator,
  words: string,
  pageToken: string,
): Promise<WorkspacePage> {
  if (UUID_FORM.test(words)) return findById(operator, words);
  const wanted = folded(words);
  const found: WorkspaceShape[] = [];
  let lookedThrough = 0;
  let next: string | null = pageToken;
  do {
    const page: WorkspacePage = await listWorkspaces(operator, LOOK_AT_ONCE, next);
    found.push(...page.workspaces.filter((workspace) => matches(workspace, wanted)));
    lookedThrough += page.lookedThrough;
    ({ next } = page);
  } while (next !== null && found.length < ENOUGH_FOUND && lookedThrough < LOOK_THROUGH_MAX);
  return { workspaces: found, next, lookedThrough, notice: null };
}

async function findById({ call, methods }: Operator, workspaceId: string): Promise<WorkspacePage> {
  try {
    const { workspace } = await call(methods.getWorkspace, { workspaceId });
    return { workspaces: [toWorkspaceShape(workspace)], next: null, lookedThrough: 1, notice: null };
  } catch (error) {
    if (!isServiceError(error) || error.code !== status.NOT_FOUND) throw error;
    return { workspaces: [], next: null, lookedThrough: 1, notice: null };
  }
}

function matches({ name, id, ownerEmail, targetUrl }: WorkspaceShape, wanted: string): boolean {
  return [name, id, ownerEmail, targetUrl].some((text) => folded(text).includes(wanted));
}

function folded(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
