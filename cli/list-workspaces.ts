import { InvalidArgumentError, type Command } from "commander";
import { ListWorkspacesRequest } from "../proto/gen/chatbridge/v1/workspace";
import type { WorkspaceShape } from "../edge/dashboard/shapes";
import { toWorkspaceShape } from "../edge/dashboard/workspace-json";
import { answer, asOperator, type Cli } from "./cli";
import { workspaceRows } from "./workspace-text";

/** Core's maximum page size, in workspaces. */
const PAGE_MAX = 1_000;

export function parseLimit(text: string): number {
  if (text === "all") return Number.POSITIVE_INFINITY;
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError("It must be a number of at least 1, or all.");
  return Number(text);
}

/** Prints at most `limit` workspaces, and a note on stderr if there are more. */
export async function listWorkspaces(cli: Cli, command: Command, limit: number): Promise<void> {
  await asOperator(cli, command, async ({ call, methods }) => {
    const found: WorkspaceShape[] = [];
    let pageToken = "";
    do {
      const pageSize = Math.min(PAGE_MAX, limit - found.length);
      const request = ListWorkspacesRequest.create({ pageSize, pageToken });
      const page = await call(methods.listWorkspaces, request);
      found.push(...page.workspaces.map(toWorkspaceShape));
      pageToken = page.nextPageToken;
    } while (pageToken !== "" && found.length < limit);
    answer(cli, command, found, workspaceRows(found));
    if (pageToken !== "") cli.terminal.tell(`There are more workspaces: use --limit <n> or --limit all.`);
  });
}
