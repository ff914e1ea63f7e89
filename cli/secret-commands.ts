import type { Command } from "commander";
import {
  ConnectWorkspaceRequest,
  CreateWorkspaceRequest,
  Platform,
  RotateSigningSecretRequest,
} from "../proto/gen/chatbridge/v1/workspace";
import { answerWorkspace } from "./answer-workspace";
import { asOperator, WORKSPACE_ARGUMENT, type Cli } from "./cli";
import { addSecretOptions, makeSecret } from "./new-secret";

/** Adds the commands that create a signing secret. */
export function addSecretCommands(workspace: Command, cli: Cli): void {
  addSecretOptions(
    workspace.command("create").description("create a workspace").argument("<name>", "display name"),
  )
    .option("--owner <email>", "address to email when the bridge fails")
    .option("--target-url <url>", "push events to this https URL; without it, the bridge polls")
    .option("--native", "a native chat tool: no bridge, no hooks, no secret")
    .addHelpText(
      "after",
      `
Examples:
  $ chat-bridge workspace create Demo --show-secret
  $ chat-bridge workspace create Demo --target-url https://bridge.example/events --secret-file demo.secret`,
    )
    .action(
      async (
        name: string,
        options: { owner?: string; targetUrl?: string; native?: true },
        command: Command,
      ) => {
        await asOperator(cli, command, async ({ call, methods }) => {
          const { owner: ownerEmail = "", targetUrl = "", native = false } = options;
          const platform = native ? Platform.NATIVE : Platform.CUSTOM;
          const request = CreateWorkspaceRequest.create({ name, ownerEmail, platform, targetUrl });
          const make = () => call(methods.createWorkspace, request);
          if (native) return answerWorkspace(cli, command, (await make()).workspace);
          const { made, shown } = await makeSecret(command, make);
          answerWorkspace(cli, command, made.workspace, shown);
        });
      },
    );

  addSecretOptions(
    workspace
      .command("rotate")
      .description("create a new signing secret; the previous one stays valid for 24 hours")
      .argument(...WORKSPACE_ARGUMENT)
      .addHelpText(
        "after",
        "\nExample:\n  $ chat-bridge workspace rotate <workspace> --secret-file new.secret",
      ),
  ).action(async (workspaceId: string, _options: object, command: Command) => {
    await asOperator(cli, command, async ({ call, methods }) => {
      const { made, shown } = await makeSecret(command, () =>
        call(methods.rotateSigningSecret, RotateSigningSecretRequest.create({ workspaceId })),
      );
      answerWorkspace(cli, command, made.workspace, shown);
    });
  });

  addSecretOptions(
    workspace
      .command("connect")
      .description("reconnect a disconnected workspace, with a new signing secret")
      .argument(...WORKSPACE_ARGUMENT)
      .addHelpText(
        "after",
        "\nExample:\n  $ chat-bridge workspace connect <workspace> --secret-file new.secret",
      ),
  ).action(async (workspaceId: string, _options: object, command: Command) => {
    await asOperator(cli, command, async ({ call, methods }) => {
      const { made, shown } = await makeSecret(command, () =>
        call(methods.connectWorkspace, ConnectWorkspaceRequest.create({ workspaceId })),
      );
      answerWorkspace(cli, command, made.workspace, shown);
    });
  });
}
