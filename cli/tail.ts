import type { WatchWorkspaceResponse } from "../proto/gen/chatbridge/v1/workspace";
import { toDeliveryShape, toHealthShape } from "../proto/json/workspace-json";
import { answer, WORKSPACE_ARGUMENT, type Cli, type CliCommand } from "./cli";
import { asOperator } from "./core";
import { deliveryLine } from "./delivery-text";
import { addTailEvents } from "./tail-events";
import { tailStream } from "./tail-stream";
import { healthFacts } from "./workspace-text";

/** `chat-bridge tail …` shows deliveries or events live. */
export function addTail(program: CliCommand, cli: Cli): void {
  const tail = program.command("tail").description("show deliveries or events live, until Ctrl-C").moreHelp(`
tail deliveries needs a token with the role operator, and tail events a token with the role game.

Examples:
  $ chat-bridge tail deliveries <workspace>
  $ chat-bridge tail events --json | jq .event.text`);

  tail
    .command("deliveries")
    .description("show push attempts, drops, polls and health of a workspace")
    .argument(...WORKSPACE_ARGUMENT)
    .moreHelp(`
The health is printed at the start, and when its state changes. With --json, each line is {"delivery": …} or
{"health": …}, and each change of a number of the health is printed too.

Examples:
  $ chat-bridge tail deliveries <workspace>
  $ chat-bridge tail deliveries <workspace> --json | jq 'select(.delivery.result != "success")'`)
    .action((workspaceId: string) => {
      const show = deliveriesShower(cli);
      return asOperator(cli, async ({ methods, metadata, called, workspaceId: idOf }) => {
        const id = await idOf(workspaceId);
        return tailStream({
          cli,
          called,
          open: () => methods.watchWorkspace({ workspaceId: id }, metadata),
          take: show,
        });
      });
    });

  addTailEvents(tail, cli);
}

/** Returns a function that prints what core reports. A health report is printed only if the state has changed. */
function deliveriesShower(cli: Cli): (response: WatchWorkspaceResponse) => void {
  let before: string | undefined;
  return ({ change }) => {
    if (change?.$case === "delivery") {
      const delivery = toDeliveryShape(change.value);
      answer(cli, { delivery }, [deliveryLine(delivery)]);
    } else if (change?.$case === "health") {
      const health = toHealthShape(change.value);
      const now = JSON.stringify([health?.mode, health?.state, health?.recoveredAt]);
      answer(cli, { health }, now === before ? [] : healthFacts(health));
      before = now;
    }
  };
}
