import type { Workspace } from "../proto/gen/chatbridge/v1/workspace";
import { toWorkspaceShape } from "../proto/json/workspace-json";
import { answer, type Cli } from "./cli";
import type { Line } from "./colour";
import { workspaceFacts } from "./workspace-text";

/** Prints a workspace after a change, with the signing secret `secret` if given, and then the lines `more`. */
export function answerWorkspace(
  cli: Cli,
  { workspace: changed }: { readonly workspace?: Workspace | undefined },
  secret?: string,
  more: readonly Line[] = [],
): void {
  const workspace = toWorkspaceShape(changed);
  const value = { workspace, ...(secret === undefined ? {} : { signingSecret: secret }) };
  answer(cli, value, [...workspaceFacts(workspace, secret), ...more]);
}
