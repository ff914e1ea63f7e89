import type { Command } from "commander";
import type { WatchWorkspaceResponse } from "../proto/gen/chatbridge/v1/workspace";
import { toDeliveryShape, toHealthShape } from "../edge/dashboard/workspace-json";
import { answer, asOperator, WORKSPACE_ARGUMENT, type Cli } from "./cli";
import { tailStream } from "./tail-stream";
import { deliveryLine, healthFacts } from "./workspace-text";

/** `chat-bridge tail deliveries` shows attempts, drops and polls of a workspace, and its health. */
export function addTailDeliveries(tail: Command, cli: Cli): void {
  tail
    .command("deliveries")
    .description(
      "show push attempts, drops, polls and health of a workspace (needs a token with the role operator)",
    )
    .argument(...WORKSPACE_ARGUMENT)
    .addHelpText(
      "after",
      `
With --json, each line is {"delivery": …} or {"health": …}.

Examples:
  $ chat-bridge tail deliveries <workspace>
  $ chat-bridge tail deliveries <workspace> --json | jq 'select(.delivery.result != "success")'`,
    )
    .action(async (workspaceId: string, _options: object, command: Command) => {
      await asOperator(cli, command, ({ watch, called }) =>
        tailStream({
          cli,
          called,
          open: () => watch(workspaceId),
          take({ change }: WatchWorkspaceResponse) {
            if (change?.$case === "health") {
              const health = toHealthShape(change.value);
              answer(cli, command, { health }, healthFacts(health));
            } else if (change?.$case === "delivery") {
              const delivery = toDeliveryShape(change.value);
              answer(cli, command, { delivery }, [deliveryLine(delivery)]);
            }
          },
        }),
      );
    });
}
