import { UUID_FORM } from "../contract/forms";
import {
  ListWorkspacesRequest,
  type ListWorkspacesResponse,
  type WorkspaceServiceClient,
} from "../proto/gen/chatbridge/v1/workspace";
import { folded } from "../proto/json/match-workspace";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";

/** Maximum number of workspaces in one answer from core. */
export const PAGE_MAX = 1_000;
/** Maximum number of ids in the error for an ambiguous name. */
const IDS_SHOWN_MAX = 10;

/** Lists one page of workspaces. */
type ListPage = (
  method: WorkspaceServiceClient["listWorkspaces"],
  request: ListWorkspacesRequest,
) => Promise<ListWorkspacesResponse>;

/**
 * Returns the id of the workspace with this id or name. A name must match exactly one workspace, first with the same
 * case, and otherwise in any case. Throws a `CliFailure` if the name matches none or several.
 */
export async function workspaceIdOf(
  text: string,
  { listWorkspaces }: Pick<WorkspaceServiceClient, "listWorkspaces">,
  list: ListPage,
): Promise<string> {
  if (UUID_FORM.test(text)) return text;
  const exact: string[] = [];
  const alike: string[] = [];
  let pageToken = "";
  do {
    const request = ListWorkspacesRequest.create({ pageSize: PAGE_MAX, pageToken });
    const page = await list(listWorkspaces, request);
    for (const { id, name } of page.workspaces) {
      if (name === text) exact.push(id);
      else if (folded(name) === folded(text)) alike.push(id);
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  const ids = exact.length > 0 ? exact : alike;
  const [id] = ids;
  if (id === undefined) {
    throw new CliFailure(
      EXIT.NOT_FOUND,
      `no workspace has the id or the name ${JSON.stringify(text)}; run chat-bridge workspace list to see all workspaces`,
    );
  }
  if (ids.length > 1) {
    const shown = ids.slice(0, IDS_SHOWN_MAX).map((each) => `\n  ${each}`);
    const more = ids.length > shown.length ? `\n  and ${ids.length - shown.length} more` : "";
    throw new CliFailure(
      EXIT.USAGE,
      `${ids.length} workspaces have the name ${JSON.stringify(text)}: give the id of one of them:${shown.join("")}${more}`,
    );
  }
  return id;
}
