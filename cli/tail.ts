import type { WatchWorkspaceResponse } from "../proto/gen/chatbridge/v1/workspace";
import { toDeliveryShape, toHealthShape } from "../proto/json/workspace-json";
import { answer, WORKSPACE_ARGUMENT, type Cli, type CliCommand } from "./cli";
import { asOperator } from "./core";
import { addTailEvents } from "./tail-events";
import { tailStream } from "./tail-stream";
import { deliveryLine, healthFacts } from "./workspace-text";

/** `chat-bridge tail …` shows deliveries or events live. */
export function addTail(program: CliCommand, cli: Cli): void {
  const tail = program.command("tail").description("show deliveries or events live, until Ctrl-C").moreHelp(`
Examples:
  $ chat-bridge tail deliveries <workspace>
  $ chat-bridge tail events --json | jq .event.text`);

  tail
    .command("deliveries")
    .description(
      "show push attempts, drops, polls and health of a workspace (needs a token with the role operator)",
    )
    .argument(...WORKSPACE_ARGUMENT)
    .moreHelp(`
With --json, each line is {"delivery": …} or {"health": …}.

Examples:
  $ chat-bridge tail deliveries <workspace>
  $ chat-bridge tail deliveries <workspace> --json | jq 'select(.delivery.result != "success")'`)
    .action((workspaceId: string) =>
      asOperator(cli, ({ methods, metadata, called }) =>
        tailStream({
          cli,
          called,
          open: () => methods.watchWorkspace({ workspaceId }, metadata),
          take({ change }: WatchWorkspaceResponse) {
            if (change?.$case === "health") {
              const health = toHealthShape(change.value);
              answer(cli, { health }, healthFacts(health));
            } else if (change?.$case === "delivery") {
              const delivery = toDeliveryShape(change.value);
              answer(cli, { delivery }, [deliveryLine(delivery)]);
            }
          },
        }),
      ),
    );

  addTailEvents(tail, cli);
}
