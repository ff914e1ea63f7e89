import type { Command } from "commander";
import type { Workspace } from "../proto/gen/chatbridge/v1/workspace";
import { toWorkspaceShape } from "../edge/dashboard/workspace-json";
import { answer, type Cli } from "./cli";
import { workspaceFacts } from "./workspace-text";

/** Answers a workspace as it is now; a new secret only where it was asked for. */
export function answerWorkspace(
  cli: Cli,
  command: Command,
  changed: Workspace | undefined,
  secret?: string,
): void {
  const workspace = toWorkspaceShape(changed);
  const value = { workspace, ...(secret === undefined ? {} : { signingSecret: secret }) };
  answer(cli, command, value, workspaceFacts(workspace, secret));
}
