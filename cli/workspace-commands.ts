import type { Command } from "commander";
import {
  DeleteWorkspaceRequest,
  DisconnectWorkspaceRequest,
  GetWorkspaceRequest,
  SetTargetUrlRequest,
  UpdateWorkspaceRequest,
} from "../proto/gen/chatbridge/v1/workspace";
import { toHealthShape, toWorkspaceShape } from "../edge/dashboard/workspace-json";
import { answer, asOperator, WORKSPACE_ARGUMENT, type Cli } from "./cli";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";
import { listWorkspaces, parseLimit } from "./list-workspaces";
import { addSecretCommands } from "./secret-commands";
import { answerWorkspace } from "./answer-workspace";
import { healthFacts, workspaceFacts } from "./workspace-text";

/** `chat-bridge workspace …` creates, shows, changes and deletes workspaces. */
export function addWorkspaceCommands(program: Command, cli: Cli): void {
  const workspace = program
    .command("workspace")
    .description("create, show, change and delete workspaces (needs a token with the role operator)")
    .addHelpText(
      "after",
      `
Examples:
  $ chat-bridge workspace create "Ann's team" --owner ann@example.org --secret-file ann.secret
  $ chat-bridge workspace list --json | jq -r '.[].id'
  $ chat-bridge workspace show 0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11
  $ chat-bridge workspace set-url 0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11 https://bridge.example/events`,
    );

  addSecretCommands(workspace, cli);

  workspace
    .command("list")
    .description("list workspaces, newest first")
    .option("--limit <n>", "maximum number of workspaces, or all", parseLimit, 100)
    .addHelpText("after", "\nExample:\n  $ chat-bridge workspace list --limit all --json | jq length")
    .action(({ limit }: { limit: number }, command: Command) => listWorkspaces(cli, command, limit));

  workspace
    .command("show")
    .description("show a workspace and the health of its delivery")
    .argument(...WORKSPACE_ARGUMENT)
    .addHelpText("after", "\nExample:\n  $ chat-bridge workspace show <workspace> --json | jq .health")
    .action(async (workspaceId: string, _options: object, command: Command) => {
      await asOperator(cli, command, async ({ call, methods }) => {
        const found = await call(methods.getWorkspace, GetWorkspaceRequest.create({ workspaceId }));
        const shape = toWorkspaceShape(found.workspace);
        const health = toHealthShape(found.health);
        answer(cli, command, { workspace: shape, health }, [
          ...workspaceFacts(shape),
          ...healthFacts(health),
        ]);
      });
    });

  workspace
    .command("update")
    .description("change the name or the owner")
    .argument(...WORKSPACE_ARGUMENT)
    .option("--name <name>", "display name")
    .option("--owner <email>", "address to email when the bridge fails; empty for none")
    .addHelpText(
      "after",
      '\nExample:\n  $ chat-bridge workspace update <workspace> --name "Ann\'s team" --owner ann@example.org',
    )
    .action(async (workspaceId: string, options: { name?: string; owner?: string }, command: Command) => {
      const { name, owner: ownerEmail } = options;
      if (name === undefined && ownerEmail === undefined) {
        throw new CliFailure(EXIT.USAGE, "there is nothing to change: give --name, --owner or both");
      }
      await asOperator(cli, command, async ({ call, methods }) => {
        const request = UpdateWorkspaceRequest.create({ workspaceId, name, ownerEmail });
        answerWorkspace(cli, command, (await call(methods.updateWorkspace, request)).workspace);
      });
    });

  workspace
    .command("set-url")
    .description("push events to a URL, or let the bridge poll again")
    .argument(...WORKSPACE_ARGUMENT)
    .argument("[url]", "public https URL of the bridge")
    .option("--clear", "remove the URL: events are held for polling")
    .addHelpText(
      "after",
      `
Held events are not pushed: let the bridge poll a last time before you set a URL.

Examples:
  $ chat-bridge workspace set-url <workspace> https://bridge.example/events
  $ chat-bridge workspace set-url <workspace> --clear`,
    )
    .action(
      async (workspaceId: string, url: string | undefined, options: { clear?: true }, command: Command) => {
        if ((url === undefined) === (options.clear === undefined)) {
          throw new CliFailure(EXIT.USAGE, "give either a URL or --clear");
        }
        await asOperator(cli, command, async ({ call, methods }) => {
          const request = SetTargetUrlRequest.create({ workspaceId, targetUrl: url ?? "" });
          answerWorkspace(cli, command, (await call(methods.setTargetUrl, request)).workspace);
        });
      },
    );

  workspace
    .command("disconnect")
    .description("disable the hooks of a workspace and delete its secrets")
    .argument(...WORKSPACE_ARGUMENT)
    .addHelpText("after", "\nExample:\n  $ chat-bridge workspace disconnect <workspace>")
    .action(async (workspaceId: string, _options: object, command: Command) => {
      await asOperator(cli, command, async ({ call, methods }) => {
        const request = DisconnectWorkspaceRequest.create({ workspaceId });
        answerWorkspace(cli, command, (await call(methods.disconnectWorkspace, request)).workspace);
      });
    });

  workspace
    .command("delete")
    .description("delete a workspace and everything that is held for it")
    .argument(...WORKSPACE_ARGUMENT)
    .option("--yes", "do not ask for confirmation")
    .addHelpText(
      "after",
      "\nExamples:\n  $ chat-bridge workspace delete <workspace>\n  $ chat-bridge workspace delete <workspace> --yes    # in a script",
    )
    .action(async (workspaceId: string, { yes = false }: { yes?: boolean }, command: Command) => {
      await asOperator(cli, command, async ({ call, methods }) => {
        const found = await call(methods.getWorkspace, GetWorkspaceRequest.create({ workspaceId }));
        const { id, name } = toWorkspaceShape(found.workspace);
        const question = `Delete ${id} "${name}" and everything that is held for it?`;
        if (!yes && !(await cli.terminal.confirm(question, "--yes"))) {
          throw new CliFailure(EXIT.NO, "nothing was deleted");
        }
        await call(methods.deleteWorkspace, DeleteWorkspaceRequest.create({ workspaceId: id }));
        answer(cli, command, { deleted: id }, [`Deleted ${id}.`]);
      });
    });
}
