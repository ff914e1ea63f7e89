import { toChangeShape } from "../proto/json/workspace-json";
import { answer, WORKSPACE_ARGUMENT, type Cli, type CliCommand } from "./cli";
import { asOperator } from "./core";
import { changeRows } from "./workspace-text";

/** `chat-bridge changes` prints what operators changed in a workspace. */
export function addChanges(program: CliCommand, cli: Cli): void {
  program
    .command("changes")
    .description("list what operators changed in a workspace")
    .argument(...WORKSPACE_ARGUMENT)
    .moreHelp(`
Prints the last 200 changes, newest first, each with the name of the token that made the change.

Examples:
  $ chat-bridge changes 0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11
  $ chat-bridge changes <workspace> --json | jq '.[] | select(.change == "secret-rotated")'`)
    .action((workspaceId: string) =>
      asOperator(cli, async ({ call, methods }) => {
        const { changes } = await call(methods.listChanges, { workspaceId });
        const shapes = changes.flatMap((change) => toChangeShape(change) ?? []);
        answer(cli, shapes, changeRows(shapes));
      }),
    );
}
